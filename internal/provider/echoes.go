// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import "github.com/feed-operator/feed-operator/internal/redact"

// WithoutEchoes returns the response of a provider without what that was sent to know the operator by. A summary may
// become a few characters longer by that.
func (r Response) WithoutEchoes(sent *redact.Sent) Response {
	r.Summary, r.Model = sent.Mask(r.Summary), sent.Mask(r.Model)
	if r.Verdict != nil {
		verdict := *r.Verdict
		verdict.Explanation = sent.Mask(verdict.Explanation)
		r.Verdict = &verdict
	}
	return r
}
