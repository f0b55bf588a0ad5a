// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// The API's own words are looked at where its codes do not tell cases apart.
var (
	wordsTooLong = regexp.MustCompile(`(?i)context (?:length|size|window)|prompt is too long|too many tokens|exceeds? the (?:model's )?maximum (?:input|prompt)`)
	// wordsTooLarge are of a request that alone is more than may be asked in a minute.
	wordsTooLarge = regexp.MustCompile(`(?i)^request too large\b`)
	wordsSpent    = regexp.MustCompile(`(?i)exceeded your current quota|insufficient (?:balance|credits?|quota)|spend(?:ing)? limit`)
	wordsRetry    = regexp.MustCompile(`(?i)try again in ((?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+)`)
)

// fail turns an answer that is no success into a failure, and notes what else it tells.
func (c *call) fail(status int, header http.Header, body []byte) *failure.Error {
	failed, wire := c.provider.refused(status, header, body)
	c.refused = complaintOf(status, wire)
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusBadRequest:
		c.unknownPath = !wire.namesModel()
	}
	return failed
}

// refused turns an answer that is no success into a failure, as modelapi.API.Refused describes. Beyond
// the status, the API and its relatives tell:
//
//	a code of spent money, words of it with 429    RateLimit/QuotaSpent
//	content_filter and its like                    Validation/Blocked
//	json_validate_failed                           API/Malformed
//	model_not_found                                Validation/ModelNotFound
//	context_length_exceeded, a 400 or 429 about    Validation/TooLong
//	  the length
//	a code of overload                             API/Overloaded
func (p *Provider) refused(status int, header http.Header, body []byte) (*failure.Error, wireError) {
	wire, spoken := readError(body)
	code := modelapi.Named(cmp.Or(wire.Code, wire.Type))
	refusal := modelapi.Refusal{
		Status: status, Spoken: spoken, Code: code, Words: wire.Message, RetryAfter: p.retryAfter(status, header, wire),
	}
	switch {
	case status == 0: // a success that holds an error of no known kind
		refusal.Message = fmt.Sprintf("%s answered with an error: %s", p.api.Host(), p.api.Quoted(wire.Message))
	case status < 400:
	case wire.isSpent(), status == http.StatusTooManyRequests && wordsSpent.MatchString(wire.Message):
		refusal.Type = failure.TypeQuotaSpent
	case wire.is(blockedCodes):
		refusal.Type, refusal.Message = failure.TypeBlocked, p.api.Blocked(code).Message
	case wire.Code == codeNoJSON:
		refusal.Type = failure.TypeMalformed
		refusal.Message = fmt.Sprintf("The model %s did not write the JSON that it was asked for.", p.api.Model)
	case wire.Code == codeModelNotFound:
		refusal.Type = failure.TypeModelNotFound
	case status == http.StatusNotFound && !wire.namesModel():
		refusal.Message = fmt.Sprintf("%s has no Chat Completions API at %s. Correct the endpoint; it usually ends in /v1.",
			p.api.Host(), cmp.Or(p.api.Endpoint.Path, "/"))
	case isTooLong(status, wire):
		refusal.Type = failure.TypeTooLong
	case status >= 500 && wire.is(overloadedCodes):
		refusal.Type = failure.TypeOverloaded
	}
	return p.api.Refused(refusal), wire
}

func isTooLong(status int, wire wireError) bool {
	switch status {
	case http.StatusTooManyRequests:
		return wordsTooLarge.MatchString(wire.Message)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return wire.Code == codeContextLength || wordsTooLong.MatchString(wire.Message)
	}
	return false
}

// retryAfter is how long the API asked for a pause: the longest that its headers for that
// say. Where they are missing, a throttled request is told when the budgets of the minute or day are
// full again; that of requests counts only if none is left. Words are the last resort.
func (p *Provider) retryAfter(status int, header http.Header, wire wireError) time.Duration {
	now := failure.AnsweredAt(header.Get("Date"), p.api.Now())
	wait := max(failure.RetryAfter(header.Get("Retry-After"), now), failure.RetryAfterMs(header.Get("Retry-After-Ms")))
	if wait > 0 || status != http.StatusTooManyRequests {
		return wait
	}
	wait = failure.WaitFor(header.Get("X-RateLimit-Reset-Tokens"))
	if failure.UsedUp(header.Get("X-RateLimit-Remaining-Requests")) {
		wait = max(wait, failure.WaitFor(header.Get("X-RateLimit-Reset-Requests")))
	}
	if found := wordsRetry.FindStringSubmatch(wire.Message); wait == 0 && found != nil {
		wait = failure.WaitFor(found[1])
	}
	return wait
}
