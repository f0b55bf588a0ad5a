// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExtractiveProvider picks the sentences of the article that say most about it. It runs inside
// the operator, costs nothing and needs no key; it knows Japanese and English best.
type ExtractiveProvider struct{}

// AIProviderSpec says which service writes summaries, and how hard it may be asked.
// +kubebuilder:validation:XValidation:rule="has(self.extractive)",message="name exactly one provider: extractive"
type AIProviderSpec struct {
	// Extractive is the built-in summarizer that needs no service.
	// +optional
	Extractive *ExtractiveProvider `json:"extractive,omitempty"`

	// RequestsPerMinute is how many requests are made in a minute at most, evenly spaced.
	// Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	RequestsPerMinute *int32 `json:"requestsPerMinute,omitempty"`

	// MaxConcurrent is how many requests are under way at the same time at most.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`

	// Timeout is how long one request may take, from 1s to 10m. Default: 60s.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="timeout must be from 1s to 10m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Suspend stops every new request. Items that need this provider wait.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// AIProviderStatus is what is known about the provider.
type AIProviderStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions of the provider: Ready, and Reconciling or Stalled while they are True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AIProvider is a service that writes summaries. FeedSources of the same namespace name it in
// spec.providers; several that are named stand in for each other, in the order of that list.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=aip,categories=feeds
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Per minute",type=integer,JSONPath=`.spec.requestsPerMinute`,priority=1
// +kubebuilder:printcolumn:name="Concurrent",type=integer,JSONPath=`.spec.maxConcurrent`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AIProvider struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec says which service it is.
	// +required
	Spec AIProviderSpec `json:"spec"`

	// Status is what is known about it.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status AIProviderStatus `json:"status,omitzero"`
}

// AIProviderList is a list of AIProviders.
// +kubebuilder:object:root=true
type AIProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AIProvider `json:"items"`
}

// DefaultProviderTimeout bounds one request to a provider that does not say otherwise.
const DefaultProviderTimeout = 60 * time.Second

// DefaultProviderConcurrency is how many requests to one provider are under way at once by default.
const DefaultProviderConcurrency = 4

// Timeout returns how long one request may take.
func (in *AIProvider) Timeout() time.Duration {
	if in.Spec.Timeout != nil {
		return in.Spec.Timeout.Duration
	}
	return DefaultProviderTimeout
}

// MaxConcurrent returns how many requests may be under way at once.
func (in *AIProvider) MaxConcurrent() int {
	if in.Spec.MaxConcurrent != nil {
		return int(*in.Spec.MaxConcurrent)
	}
	return DefaultProviderConcurrency
}

// RequestsPerMinute returns the pace, 0 meaning without limit.
func (in *AIProvider) RequestsPerMinute() int {
	if in.Spec.RequestsPerMinute != nil {
		return int(*in.Spec.RequestsPerMinute)
	}
	return 0
}
