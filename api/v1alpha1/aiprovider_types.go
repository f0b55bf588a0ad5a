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

// GeminiProvider is Google's Gemini, by the API key of a Google AI Studio project.
type GeminiProvider struct {
	// Model that is asked, such as gemini-2.5-flash.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._/-]*$`
	Model string `json:"model"`

	// Endpoint is the base URL of the API. Default: https://generativelanguage.googleapis.com.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http','https'] && url(self).getHostname() != ''",message="endpoint must be a full https:// URL"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@|[?#]')",message="endpoint must not hold credentials, a query or a fragment: the key belongs into the Secret"
	Endpoint string `json:"endpoint,omitempty"`

	// SecretRef names a Secret in the same namespace that holds the key as apiKey.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// OpenAIProvider is OpenAI, or any server that speaks its Chat Completions API: Ollama, vLLM, LocalAI
// and others.
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) || has(self.endpoint)",message="secretRef is required: it names the Secret with the apiKey. Only a server of your own (endpoint) may need none"
type OpenAIProvider struct {
	// Model that is asked, as the server names it: gpt-5-mini, llama3.2:3b, Qwen/Qwen3-8B.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`
	Model string `json:"model"`

	// Endpoint is the base URL of the API, with its version: http://ollama.example:11434/v1.
	// Default: https://api.openai.com/v1.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http','https'] && url(self).getHostname() != ''",message="endpoint must be a full https:// URL"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@|[?#]')",message="endpoint must not hold credentials, a query or a fragment: the key belongs into the Secret"
	Endpoint string `json:"endpoint,omitempty"`

	// SecretRef names a Secret in the same namespace that holds the key as apiKey. A server of your
	// own (endpoint) may need none.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// AnthropicProvider is Anthropic's Claude, by the API key of a workspace.
type AnthropicProvider struct {
	// Model that is asked, such as claude-haiku-4-5.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`
	Model string `json:"model"`

	// Endpoint is the base URL of the API, without its version. Default: https://api.anthropic.com.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http','https'] && url(self).getHostname() != ''",message="endpoint must be a full https:// URL"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@|[?#]')",message="endpoint must not hold credentials, a query or a fragment: the key belongs into the Secret"
	Endpoint string `json:"endpoint,omitempty"`

	// SecretRef names a Secret in the same namespace that holds the key as apiKey.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// AIProviderSpec is the desired state of a provider: which service writes summaries, and its limits.
// +kubebuilder:validation:XValidation:rule="(has(self.gemini) ? 1 : 0) + (has(self.openAI) ? 1 : 0) + (has(self.anthropic) ? 1 : 0) + (has(self.extractive) ? 1 : 0) == 1",message="name exactly one provider: gemini, openAI, anthropic or extractive"
// +kubebuilder:validation:XValidation:rule="!(has(self.extractive) && has(self.tokensPerDay))",message="tokensPerDay is for a service that counts tokens: extractive uses none"
type AIProviderSpec struct {
	// Gemini is Google's Gemini, by the API key of a Google AI Studio project.
	// +optional
	Gemini *GeminiProvider `json:"gemini,omitempty"`

	// OpenAI is OpenAI, or a server that speaks its API, such as Ollama or vLLM.
	// +optional
	OpenAI *OpenAIProvider `json:"openAI,omitempty"`

	// Anthropic is Anthropic's Claude.
	// +optional
	Anthropic *AnthropicProvider `json:"anthropic,omitempty"`

	// Extractive is the built-in summarizer that needs no service.
	// +optional
	Extractive *ExtractiveProvider `json:"extractive,omitempty"`

	// RequestsPerMinute is how many requests are made in a minute at most, evenly spaced.
	// Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	RequestsPerMinute *int32 `json:"requestsPerMinute,omitempty"`

	// TokensPerDay is how many tokens requests may cost in a day, input and output together, from
	// midnight to midnight UTC. What a request costs is known when it has ended: those that are under way
	// may go beyond it. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	TokensPerDay *int64 `json:"tokensPerDay,omitempty"`

	// MaxConcurrent is how many requests are under way at the same time at most; never more than a
	// quarter of the operator's workers.
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

// AIProviderStatus is the observed state of the provider.
type AIProviderStatus struct {
	ServiceStatus `json:",inline"`

	// Calls that were made so far. The counters are updated at most every 30 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Calls int64 `json:"calls,omitempty"`

	// Tokens that the provider counted so far, input and output together.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Tokens int64 `json:"tokens,omitempty"`

	// TokensToday is what the calls of the day have cost.
	// +optional
	TokensToday *TokensToday `json:"tokensToday,omitempty"`

	// LastSuccessTime is when a call last succeeded.
	// +optional
	LastSuccessTime *metav1.Time `json:"lastSuccessTime,omitempty"`
}

// AIProvider is a service that writes summaries. FeedSources of the same namespace name it in
// spec.providers; of several, the next one is a fallback for the one before it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=aip,categories=feeds
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.availability.state`,priority=1
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.availability.until`,priority=1
// +kubebuilder:printcolumn:name="Calls",type=integer,JSONPath=`.status.calls`,priority=1
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.status.tokens`,priority=1
// +kubebuilder:printcolumn:name="Tokens today",type=integer,JSONPath=`.status.tokensToday.used`,priority=1
// +kubebuilder:printcolumn:name="Per minute",type=integer,JSONPath=`.spec.requestsPerMinute`,priority=1
// +kubebuilder:printcolumn:name="Concurrent",type=integer,JSONPath=`.spec.maxConcurrent`,priority=1
// +kubebuilder:printcolumn:name="Last failure",type=string,JSONPath=`.status.lastFailure.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AIProvider struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is the desired state: which service to call.
	// +required
	Spec AIProviderSpec `json:"spec"`

	// Status is the observed state.
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

// SecretRef returns the Secret with the provider's key, or nil for one that needs none.
func (in *AIProvider) SecretRef() *SecretReference {
	switch spec := &in.Spec; {
	case spec.Gemini != nil:
		return &spec.Gemini.SecretRef
	case spec.OpenAI != nil:
		return spec.OpenAI.SecretRef
	case spec.Anthropic != nil:
		return &spec.Anthropic.SecretRef
	}
	return nil
}

// Model returns the model that is asked, empty for the built-in summarizer.
func (in *AIProvider) Model() string {
	switch spec := &in.Spec; {
	case spec.Gemini != nil:
		return spec.Gemini.Model
	case spec.OpenAI != nil:
		return spec.OpenAI.Model
	case spec.Anthropic != nil:
		return spec.Anthropic.Model
	}
	return ""
}

// Service returns the part of the status that providers and destinations have in common.
func (in *AIProvider) Service() *ServiceStatus { return &in.Status.ServiceStatus }

// Suspended reports whether a person has stopped every new request.
func (in *AIProvider) Suspended() bool { return in.Spec.Suspend }

// Screens reports whether the provider can judge an article by criteria.
func (in *AIProvider) Screens() bool { return in.Spec.Extractive == nil }

// ReadsDocuments reports whether the provider reads PDF documents as they are, and not only the text that can
// be taken out of them. Of servers that speak the API of OpenAI, only that of OpenAI is known to.
func (in *AIProvider) ReadsDocuments() bool {
	spec := in.Spec
	return spec.Gemini != nil || spec.Anthropic != nil || spec.OpenAI != nil && spec.OpenAI.Endpoint == ""
}

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
