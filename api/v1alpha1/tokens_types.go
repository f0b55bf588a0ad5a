// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TokensToday is what calls of one day have cost. A day is from midnight to midnight UTC.
type TokensToday struct {
	// Day that the counts are of, such as 2026-01-31.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	// +kubebuilder:validation:MaxLength=10
	Day string `json:"day"`

	// Used is what the calls of the day have cost, in tokens. It is written at most every 30 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Used int64 `json:"used,omitempty"`

	// Reserved is what calls may use before it is written again. With spec.tokensPerDay it grows by 5 %
	// of that at a time; after a restart all of it counts as used.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Reserved int64 `json:"reserved,omitempty"`
}

// TokensPerDay returns how many tokens calls may cost in a day, 0 meaning without limit.
func (in *AIProvider) TokensPerDay() int64 {
	if in.Spec.TokensPerDay != nil {
		return *in.Spec.TokensPerDay
	}
	return 0
}
