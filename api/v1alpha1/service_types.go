// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AvailabilityState is whether a provider or a destination may be called.
// +kubebuilder:validation:Enum=Ready;CoolingDown;QuotaSpent;CircuitOpen;Down
type AvailabilityState string

// Availability is whether a provider or a destination may be called, and after how many failures in a row.
type Availability struct {
	// State is Ready; CoolingDown (rate limited), QuotaSpent (the quota is spent: the
	// service's own, or, with failures 0, spec.tokensPerDay) or CircuitOpen (too
	// many failures in a row; after until, one call at a time is made as a probe); or Down
	// (until the credentials or the spec are changed).
	// +required
	State AvailabilityState `json:"state"`

	// Until is when it may be called again, in the states that end by themselves.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// Failures in a row that have led to this state.
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

// ServiceStatus is the observed state of a service that the operator calls: a provider or a destination.
type ServiceStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions refer to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, and Reconciling or Stalled while they are True; of a destination also
	// Verifiable.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Availability is whether the service may be called now. It survives a restart.
	// +optional
	Availability *Availability `json:"availability,omitempty"`

	// CheckedTime is when the service was last checked successfully.
	// +optional
	CheckedTime *metav1.Time `json:"checkedTime,omitempty"`

	// CheckedFor identifies the server, account and version of the Secret that were checked: the
	// result of one does not hold for another.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CheckedFor string `json:"checkedFor,omitempty"`

	// Failures of calls so far, by category. The counters are updated at most every 30 seconds.
	// +optional
	// +listType=map
	// +listMapKey=category
	// +kubebuilder:validation:MaxItems=6
	Failures []CategoryCount `json:"failures,omitempty"`

	// CountsToken names the last addition to the counters of this status. One whose answer from the API server is lost is
	// known by it, and not added again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CountsToken string `json:"countsToken,omitempty"`

	// LastFailure is how a call last failed.
	// +optional
	LastFailure *Failure `json:"lastFailure,omitempty"`

	// RefusedCredentials is the version of the Secret (UID and resourceVersion) that was refused,
	// while the service is Down for it. A newer version is tried automatically.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	RefusedCredentials string `json:"refusedCredentials,omitempty"`

	// CredentialsNotices are the notifications that credentials are refused, one for each destination in
	// spec.notifications of the sources whose items fail for it. Once the credentials are accepted,
	// those not sent are dropped; the others stay until other credentials are refused.
	// +optional
	// +listType=map
	// +listMapKey=destination
	// +kubebuilder:validation:MaxItems=64
	CredentialsNotices []CredentialsNotice `json:"credentialsNotices,omitempty"`

	// CredentialsRestoredTime is when credentials that had been refused were last replaced, by a new Secret
	// or a changed spec: items that had failed for them before are retried.
	// +optional
	CredentialsRestoredTime *metav1.MicroTime `json:"credentialsRestoredTime,omitempty"`

	// LastHandledRetry is the last value of the retry annotation that was handled.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastHandledRetry string `json:"lastHandledRetry,omitempty"`

	// RetryRequestedTime is when that value was handled: items whose last attempt failed here before, for
	// whatever reason, are retried.
	// +optional
	RetryRequestedTime *metav1.MicroTime `json:"retryRequestedTime,omitempty"`

	// ForcedTime is what the first versions of the operator called retryRequestedTime. It is read, and not written.
	// +optional
	ForcedTime *metav1.MicroTime `json:"forcedTime,omitempty"`

	// ReleasedTime is what the first versions of the operator called credentialsRestoredTime. It is read, and not written.
	// +optional
	ReleasedTime *metav1.MicroTime `json:"releasedTime,omitempty"`
}

// RetryRequested returns when a person last asked for a retry of all that had failed at the service; nil for never.
func (in *ServiceStatus) RetryRequested() *metav1.MicroTime {
	return cmp.Or(in.RetryRequestedTime, in.ForcedTime)
}

// CredentialsRestored returns when refused credentials were last replaced; nil for never.
func (in *ServiceStatus) CredentialsRestored() *metav1.MicroTime {
	return cmp.Or(in.CredentialsRestoredTime, in.ReleasedTime)
}
