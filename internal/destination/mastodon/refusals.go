// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// maxWait is the longest wait that a server is believed to mean. No limit of Mastodon lasts longer.
const maxWait = 24 * time.Hour

// errScope is behind a failure of which the server says that the token lacks a scope.
var errScope = errors.New("the access token lacks a scope")

func asFailure(err error) (*failure.Error, bool) { return errors.AsType[*failure.Error](err) }

// malformed is for an answer of success that is not what was asked for.
func malformed(host string, status int) *failure.Error {
	failed := failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
		fmt.Sprintf("%s answered %d with something that is not what Mastodon answers: it may be starting, or not be a Mastodon server.", host, status))
	failed.Status = status
	return failed
}

// refusal is the failure for an answer whose status is not 200.
func (t *transport) refusal(request *http.Request, answer *http.Response, body []byte) *failure.Error {
	status := answer.StatusCode
	if status >= 200 && status <= 299 {
		return malformed(t.host, status)
	}
	words := ""
	if len(body) <= maxAnswer {
		words = destination.WordsOf(body, t.sent, t.token)
	}
	failed := &failure.Error{
		Category:   failure.FromStatus(status),
		Type:       failure.TypeHTTPStatus,
		Status:     status,
		RetryAfter: t.wait(status, answer.Header),
	}
	// What a person is to do comes first: of a token that it does not know any more, a server may say "token not supplied".
	says := func(sentences ...string) string {
		if words != "" {
			sentences = append(sentences, "The server says: "+strings.TrimRight(words, ".")+".")
		}
		return strings.Join(sentences, " ")
	}
	switch {
	case status >= 300 && status <= 399:
		failed.Type = failure.TypeRedirect
		failed.Message = fmt.Sprintf("%s answered %d: it redirects to another address, which is not followed. "+
			"Use the address that it redirects to.", t.host, status)
	case status == http.StatusUnauthorized:
		failed.Type = failure.TypeCredentials
		failed.Message = says(t.host+" refused the access token.", "Make a new one in the preferences of the account, under Development.")
	case status == http.StatusForbidden:
		failed.Type = failure.TypeCredentials
		if lacksScope(answer.Header, words) {
			failed.Err = errScope
		}
		if words == "" && failed.Err == nil { // one post that a firewall does not like says nothing of the token
			failed.Category, failed.Type = v1alpha1.CategoryAPI, failure.TypeHTTPStatus
		}
		failed.Message = says(t.host+" refused the request with 403.", forbidden(request, failed.Err != nil, words))
	case status == http.StatusNotFound:
		failed.Message = says(t.host+" answered 404.", "Is this a Mastodon server?")
	case status == http.StatusTooManyRequests:
		failed.Type = failure.TypeThrottled
		failed.Message = t.host + " answered 429: it was asked too often."
	case status == http.StatusPaymentRequired:
		failed.Type, failed.Quota = failure.TypeQuotaSpent, true
		failed.Message = says(t.host + " answered 402.")
	case failed.Category == v1alpha1.CategoryValidation:
		if tooLong(status, words) {
			failed.Type = failure.TypeTooLong
		}
		failed.Message = says(fmt.Sprintf("%s refused the request with %d.", t.host, status))
	default:
		failed.Message = says(strings.TrimSpace(fmt.Sprintf("%s answered %d %s", t.host, status, http.StatusText(status))) + ".")
	}
	return failed
}

// forbidden returns what to do about a 403.
func forbidden(request *http.Request, scope bool, words string) string {
	switch {
	case scope && strings.Contains(request.URL.Path, "/media"):
		return "The access token needs the scope write:media for images."
	case scope && request.Method == http.MethodPost:
		return "The access token needs the scope write:statuses."
	case scope:
		return "The access token needs the scopes read:accounts and read:statuses."
	case words == "":
		return "What answered may be a firewall in front of the server; else the access token lacks a scope, or the account is suspended."
	default:
		return "The access token may lack a scope, or the account be suspended, disabled or unconfirmed."
	}
}

// lacksScope tells a token of too few scopes, the header of RFC 6750 or the words of Mastodon,
// GoToSocial and Pleroma, from an account that may do nothing.
func lacksScope(header http.Header, words string) bool {
	words = strings.ToLower(words)
	return strings.Contains(strings.Join(header.Values("WWW-Authenticate"), ","), "insufficient_scope") ||
		strings.Contains(words, "scope") || strings.Contains(words, "insufficient permissions")
}

func tooLong(status int, words string) bool {
	words = strings.ToLower(words)
	return status == http.StatusRequestEntityTooLarge ||
		strings.Contains(words, "too long") || strings.Contains(words, "character") && strings.Contains(words, "limit")
}

// wait is how long a server asks for a pause: by the Retry-After of RFC 9110 and, with 429, by
// X-RateLimit-Reset, unless X-RateLimit-Remaining says that this limit is not the one that is reached: with any
// other status, and of another limit, it says nothing of the sort. It is a time as ISO 8601; of older and other
// servers seconds, since 1970 or from now. Times are the server's, as its Date is.
func (t *transport) wait(status int, header http.Header) time.Duration {
	now := failure.AnsweredAt(header.Get("Date"), t.now())
	longest := failure.RetryAfter(header.Get("Retry-After"), now)
	if status == http.StatusTooManyRequests && failure.UsedUp(header.Get("X-RateLimit-Remaining")) {
		longest = max(longest, failure.Until(header.Get("X-RateLimit-Reset"), now))
	}
	return min(longest, maxWait)
}
