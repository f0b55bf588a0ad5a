// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AvailabilityState says whether a provider or a destination may be called.
// +kubebuilder:validation:Enum=Ready;CoolingDown;QuotaSpent;Open;Down
type AvailabilityState string

// Availability says whether a provider or a destination may be called, and since how many failures.
type Availability struct {
	// State is Ready; CoolingDown (asked to be left alone), QuotaSpent (the budget is
	// spent: the service's own, or, with failures 0, spec.tokensPerDay) or Open
	// (too many failures in a row; one call at a time is tried when the time has come); or Down
	// (until somebody changes the credentials or the spec).
	// +required
	State AvailabilityState `json:"state"`

	// Until is when it may be called again, in the states that end by themselves.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// Failures in a row that have led here.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failures int32 `json:"failures,omitempty"`
}

// CategoryCount counts failures of one category.
type CategoryCount struct {
	// Category of the failures.
	// +required
	Category Category `json:"category"`

	// Count of them.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int64 `json:"count"`
}

// ServiceStatus is what is known about a service that the operator calls: a provider or a destination.
type ServiceStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, and Reconciling or Stalled while they are True; of a destination also
	// Verifiable.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Availability says whether the service may be called now. It survives a restart.
	// +optional
	Availability *Availability `json:"availability,omitempty"`

	// CheckedTime is when the service last answered what it is asked about itself.
	// +optional
	CheckedTime *metav1.Time `json:"checkedTime,omitempty"`

	// CheckedFor names whom that was, and the version of the Secret: what one server has said is not
	// believed of another.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CheckedFor string `json:"checkedFor,omitempty"`

	// Failures of calls so far, by category. The counters are written at most every 30 seconds.
	// +optional
	// +listType=map
	// +listMapKey=category
	// +kubebuilder:validation:MaxItems=6
	Failures []CategoryCount `json:"failures,omitempty"`

	// LastFailure is how a call last failed.
	// +optional
	LastFailure *Failure `json:"lastFailure,omitempty"`

	// RefusedCredentials is the version of the Secret (UID and resourceVersion) that was refused,
	// while the service is Down for it. A newer version is tried by itself.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	RefusedCredentials string `json:"refusedCredentials,omitempty"`

	// CredentialsNotices tell that credentials are refused: each destination of spec.notifications of the sources
	// whose items fail for it, once. A cure drops those that are not sent; the others stay until other
	// credentials are refused.
	// +optional
	// +listType=map
	// +listMapKey=destination
	// +kubebuilder:validation:MaxItems=64
	CredentialsNotices []CredentialsNotice `json:"credentialsNotices,omitempty"`

	// ReleasedTime is when something that had been wrong was cured: items that had failed for it
	// before are tried again.
	// +optional
	ReleasedTime *metav1.MicroTime `json:"releasedTime,omitempty"`

	// LastHandledRetry is the value of the retry annotation that was acted on last.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastHandledRetry string `json:"lastHandledRetry,omitempty"`

	// ForcedTime is when that was: items whose last attempt had failed there before, for whatever
	// reason, are tried again.
	// +optional
	ForcedTime *metav1.MicroTime `json:"forcedTime,omitempty"`
}
