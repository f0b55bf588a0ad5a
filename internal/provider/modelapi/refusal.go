// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

const (
	// typeInvalidRequest is a request that the API does not understand, for another reason than its length.
	typeInvalidRequest = "InvalidRequest"
	// StatusOverloaded is no status of HTTP's, but used by several APIs.
	StatusOverloaded = 529
	// minQuotaWait is the least that a spent budget can mean. What is less speaks of the pace: some APIs
	// say "retry in 22s" beside a daily quota that is spent.
	minQuotaWait = time.Hour
)

// Refusal is an answer that is no success, as its API says it.
type Refusal struct {
	// Status of the answer.
	Status int
	// Meaning is the status that the API's own words stand for, where they say more. Default: Status.
	Meaning int
	// Type is what the API's own words stand for, where no status does: one of QuotaSpent, Credentials,
	// ModelNotFound, TooLong, Overloaded, Blocked and Malformed.
	Type string
	// Spoken is set if the answer is in the words of such an API, and not of something in between.
	Spoken bool
	// Code is what the API calls the error, for those who look at the errors behind a failure.
	Code string
	// Words are the API's own, as they came.
	Words string
	// Message takes the place of the usual one.
	Message string
	// RetryAfter is how long the API asked for a pause.
	RetryAfter time.Duration
}

// Refused turns an answer that is no success into a failure, by its type, else by its status.
//
//	401, 403 in words of an API     Auth/Credentials
//	402                             RateLimit/QuotaSpent
//	403 of a firewall               API/HTTPStatus
//	404                             Validation/ModelNotFound
//	408                             Network/Timeout
//	413                             Validation/TooLong
//	429                             RateLimit/Throttled
//	400, 422                        Validation/InvalidRequest
//	503, 529                        API/Overloaded
//	3xx                             Validation/Redirect
//	2xx and what is no status       API/Malformed
//	any other                       by its status
func (a *API) Refused(r Refusal) *failure.Error {
	status := cmp.Or(r.Meaning, r.Status)
	kind := cmp.Or(r.Type, typeOf(status, r.Spoken))
	words := a.Quoted(r.Words)
	failed := failure.New(categoryOf(kind, status, r.Spoken), kind, cmp.Or(r.Message, a.message(kind, status, words)))
	failed.Status, failed.RetryAfter, failed.Quota = r.Status, min(r.RetryAfter, failure.MaxWait), kind == failure.TypeQuotaSpent
	if failed.Quota && failed.RetryAfter < minQuotaWait {
		failed.RetryAfter = 0
	}
	failed.Err = fmt.Errorf("status %d %s: %s", r.Status, r.Code, words)
	return failed
}

func typeOf(status int, spoken bool) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden && spoken:
		return failure.TypeCredentials
	case status == http.StatusPaymentRequired:
		return failure.TypeQuotaSpent
	case status == http.StatusNotFound:
		return failure.TypeModelNotFound
	case status == http.StatusRequestTimeout:
		return failure.TypeTimeout
	case status == http.StatusRequestEntityTooLarge:
		return failure.TypeTooLong
	case status == http.StatusTooManyRequests:
		return failure.TypeThrottled
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return typeInvalidRequest
	case status == http.StatusServiceUnavailable, status == StatusOverloaded:
		return failure.TypeOverloaded
	case status >= 300 && status <= 399:
		return failure.TypeRedirect
	case status <= 299:
		return failure.TypeMalformed
	}
	return failure.TypeHTTPStatus
}

func categoryOf(kind string, status int, spoken bool) v1alpha1.Category {
	switch kind {
	case failure.TypeCredentials:
		return v1alpha1.CategoryAuth
	case failure.TypeQuotaSpent, failure.TypeThrottled:
		return v1alpha1.CategoryRateLimit
	case failure.TypeOverloaded, failure.TypeMalformed:
		return v1alpha1.CategoryAPI
	case failure.TypeTimeout:
		return v1alpha1.CategoryNetwork
	case failure.TypeHTTPStatus:
		if status == http.StatusForbidden && !spoken {
			return v1alpha1.CategoryAPI
		}
		return failure.FromStatus(status)
	}
	return v1alpha1.CategoryValidation
}

// inBrackets is what an API said, behind a sentence of ours: after a colon it would be taken for the
// key itself, and masked.
func inBrackets(words string) string { return " (" + strings.TrimRight(words, ". ") + ")" }

// message returns what happened, to what, and what to do.
func (a *API) message(kind string, status int, words string) string {
	host := a.Host()
	switch kind {
	case failure.TypeCredentials:
		if a.Key == "" {
			return fmt.Sprintf("%s wants an API key%s. Name a Secret that holds one in secretRef.", host, inBrackets(words))
		}
		return fmt.Sprintf("%s refused the API key%s. Put a key into the Secret that is valid and may use %s.", host, inBrackets(words), a.Model)
	case failure.TypeQuotaSpent:
		return fmt.Sprintf("The budget of the API key at %s is spent: %s %s", host, words, a.vendor.WhenSpent)
	case failure.TypeThrottled:
		return fmt.Sprintf("%s was asked too often with this API key for %s.", host, a.Model)
	case failure.TypeModelNotFound:
		return fmt.Sprintf("%s has no model %s, or not for this API key%s. Choose another model, or correct the endpoint.", host, a.Model, inBrackets(words))
	case failure.TypeTooLong:
		return a.TooLong().Message
	case typeInvalidRequest:
		return fmt.Sprintf("The model %s does not take the request: %s Choose another model.", a.Model, words)
	case failure.TypeOverloaded:
		return fmt.Sprintf("The model %s is overloaded, or %s is down for the moment.", a.Model, host)
	case failure.TypeRedirect:
		return fmt.Sprintf("%s answered %d: it redirects to another address, which is not followed. Correct the endpoint.", host, status)
	case failure.TypeTimeout:
		return fmt.Sprintf("%s waited too long for the request.", host)
	case failure.TypeMalformed:
		return a.Malformed().Message
	}
	if status == http.StatusForbidden {
		return fmt.Sprintf("Something before %s answered 403 Forbidden, such as a firewall, in words that are not of the %s API. "+
			"It says nothing about the API key.", host, a.vendor.Name)
	}
	return strings.TrimSpace(fmt.Sprintf("%s answered %d %s", host, status, http.StatusText(status))) + "."
}
