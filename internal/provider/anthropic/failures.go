// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// wireError is an error of the API (https://platform.claude.com/docs/en/api/errors).
type wireError struct {
	Type    string
	Message string
	// Code tells errors of one type apart, where there is one.
	Code string
}

// statuses are those that belong to the types of errors: the type is believed before the status,
// which a gateway may have changed.
var statuses = map[string]int{
	"authentication_error": http.StatusUnauthorized,
	"billing_error":        http.StatusPaymentRequired,
	"permission_error":     http.StatusForbidden,
	"not_found_error":      http.StatusNotFound,
	"request_too_large":    http.StatusRequestEntityTooLarge,
	"rate_limit_error":     http.StatusTooManyRequests,
	"timeout_error":        http.StatusGatewayTimeout,
	"overloaded_error":     modelapi.StatusOverloaded,
}

// vague are the types that come with many statuses, and what they mean where the status is a success.
var vague = map[string]int{"invalid_request_error": http.StatusBadRequest, "api_error": http.StatusInternalServerError}

// The API's own words are looked at where its types do not tell cases apart.
var (
	wordsTooLong = regexp.MustCompile(`(?i)prompt is too long|exceeds? (?:the )?context (?:limit|window)|request exceeds the maximum size`)
	wordsSpent   = regexp.MustCompile(`(?i)\busage limits?\b|credit balance is too low|\bspend(?:ing)? (?:limit|cap)\b`)
	codeSpent    = regexp.MustCompile(`(?:spend|usage)_limit|credit_balance`)
	requestID    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// refused turns an answer that is no success into a failure, as modelapi.API.Refused describes, by the
// status that belongs to the type of its error. Beyond that, the API tells:
//
//	429 enforced_spend_limit_…, 400 "usage limits",     RateLimit/QuotaSpent
//	  400 "credit balance is too low"
//	400 "prompt is too long"                            Validation/TooLong
func (p *Provider) refused(status int, header http.Header, body []byte) *failure.Error {
	wire := readError(body)
	if status >= 200 && status <= 299 {
		status = cmp.Or(statuses[wire.Type], vague[wire.Type], status)
	}
	id := header.Get("Request-Id")
	if !requestID.MatchString(id) {
		id = "without id"
	}
	refusal := modelapi.Refusal{
		Status: status, Meaning: cmp.Or(statuses[wire.Type], status), Spoken: wire.Type != "", Words: wire.Message,
		Code: fmt.Sprintf("%s (request %s)", modelapi.Named(wire.Type), id),
	}
	isBad := refusal.Meaning == http.StatusBadRequest
	switch spent := codeSpent.MatchString(wire.Code) || wordsSpent.MatchString(wire.Message); {
	case spent && (isBad || refusal.Meaning == http.StatusTooManyRequests):
		refusal.Type = failure.TypeQuotaSpent
	case isBad && wordsTooLong.MatchString(wire.Message):
		refusal.Type = failure.TypeTooLong
	}
	refusal.RetryAfter = waitHint(header, wire.Message, refusal, failure.AnsweredAt(header.Get("Date"), p.api.Now()))
	return p.api.Refused(refusal)
}

// readError reads the error in an answer, of which the zero value is none. The code stands beside
// the message, or in the details.
func readError(body []byte) wireError {
	var document struct {
		Error struct {
			Type    string          `json:"type"`
			Message string          `json:"message"`
			Code    string          `json:"error_code"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &document) != nil {
		return wireError{}
	}
	var details struct {
		Code string `json:"error_code"`
	}
	_ = json.Unmarshal(document.Error.Details, &details) // null, for most errors
	return wireError{document.Error.Type, document.Error.Message, cmp.Or(document.Error.Code, details.Code)}
}
