// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import "github.com/feed-operator/feed-operator/internal/redact"

// withoutSecrets returns the request without the secrets that this process knows of: a page may
// repeat what it was asked for with. They are masked before anything is cut.
func (r Request) withoutSecrets() Request {
	r.Document = r.safeDocument()
	for _, text := range []*string{&r.Title, &r.URL, &r.Text, &r.Description, &r.Instructions} {
		*text = redact.Values(*text)
	}
	if r.Screening != nil {
		r.Screening = &Screening{Criteria: redact.Values(r.Screening.Criteria)}
	}
	return r
}

// withoutSecrets returns the response without the secrets that this process knows of. A summary may
// become a few characters longer by that than was asked for.
func (r Response) withoutSecrets() Response {
	r.Summary, r.Model = redact.Values(r.Summary), redact.Values(r.Model)
	if r.Verdict != nil {
		verdict := *r.Verdict
		verdict.Explanation = redact.Values(verdict.Explanation)
		r.Verdict = &verdict
	}
	return r
}
