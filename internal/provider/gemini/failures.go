// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// wireError is the error of the Google APIs (https://google.aip.dev/193).
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []struct {
		Reason     string `json:"reason"`     // of ErrorInfo
		RetryDelay string `json:"retryDelay"` // of RetryInfo
		Violations []struct {
			QuotaID    string `json:"quotaId"`
			QuotaValue string `json:"quotaValue"`
		} `json:"violations"` // of QuotaFailure
	} `json:"details"`
}

// The API's own words are looked at where its codes do not tell cases apart.
var (
	wordsTooLong = regexp.MustCompile(`(?i)token count.*exceed|exceeds? the (?:maximum|limit)|payload size exceeds|too (?:long|large|many tokens)`)
	wordsOutput  = regexp.MustCompile(`(?i)output`)
	wordsKey     = regexp.MustCompile(`(?i)API key (?:not valid|not found|expired|is invalid)`)
	wordsSpent   = regexp.MustCompile(`(?i)\blimit: ?0(?:$|[^0-9.])|credits? (?:are|is) depleted|spend(?:ing)? (?:cap|limit)`)
	wordsRetry   = regexp.MustCompile(`(?i)retry in ([0-9]+(?:\.[0-9]+)?s)`)
)

// refused turns an answer that is no success into a failure, as modelapi.API.Refused describes. Beyond
// the status, the API tells:
//
//	a key that is not valid, with 400              Auth/Credentials
//	a daily quota or a limit of 0, with 429;       RateLimit/QuotaSpent
//	400 FAILED_PRECONDITION
//	a prompt that is too long, with 400            Validation/TooLong
func (p *Provider) refused(status int, header http.Header, body []byte) *failure.Error {
	wire := readError(body)
	refusal := modelapi.Refusal{
		Status: status, Spoken: wire.Status != "" || wire.Message != "", Code: modelapi.Named(wire.Status), Words: wire.Message,
		RetryAfter: p.retryAfter(header, wire),
	}
	isBad := status == http.StatusBadRequest
	switch {
	case wire.hasReason("API_KEY_INVALID"), isBad && wordsKey.MatchString(wire.Message):
		refusal.Type = failure.TypeCredentials
	case status == http.StatusTooManyRequests && wire.isSpent(), isBad && wire.Status == "FAILED_PRECONDITION":
		refusal.Type = failure.TypeQuotaSpent
	case isBad && wordsTooLong.MatchString(wire.Message) && !wordsOutput.MatchString(wire.Message):
		refusal.Type = failure.TypeTooLong
	}
	return p.api.Refused(refusal)
}

// readError reads the body of an answer that is no success. Some methods put the error into a list.
func readError(body []byte) wireError {
	type document struct {
		Error wireError `json:"error"`
	}
	var one document
	if json.Unmarshal(body, &one) == nil {
		return one.Error
	}
	var list []document
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return list[0].Error
	}
	return wireError{}
}

func (wire wireError) hasReason(reason string) bool {
	for _, detail := range wire.Details {
		if detail.Reason == reason {
			return true
		}
	}
	return false
}

// isSpent tells a budget that is spent from a pace that is too fast: the latter passes by itself
// within a minute.
func (wire wireError) isSpent() bool {
	for _, detail := range wire.Details {
		for _, violation := range detail.Violations {
			if strings.Contains(violation.QuotaID, "PerDay") || strings.Contains(violation.QuotaID, "PerMonth") || violation.QuotaValue == "0" {
				return true
			}
		}
	}
	return wordsSpent.MatchString(wire.Message)
}

// retryAfter is how long the API asked for a pause: the longest that it says anywhere.
func (p *Provider) retryAfter(header http.Header, wire wireError) time.Duration {
	wait := failure.RetryAfter(header.Get("Retry-After"), failure.AnsweredAt(header.Get("Date"), p.api.Now()))
	for _, detail := range wire.Details {
		wait = max(wait, failure.WaitFor(detail.RetryDelay))
	}
	if found := wordsRetry.FindStringSubmatch(wire.Message); wait <= 0 && found != nil {
		wait = failure.WaitFor(found[1])
	}
	return wait
}
