// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// answer is what an odd server sends.
type answer struct {
	status int
	header map[string]string
	body   string
}

func (a answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// R4.4, R3.1: what an answer means, and whether it leaves open that something was published.
func TestAnswersThatAreNoSuccess(t *testing.T) {
	t.Parallel()
	const html = "<!DOCTYPE html><title>Starting</title>"
	isUncertain := outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false}
	redirect := func(status int) outcome {
		certain := status != 302 && status != 303 // an answer to a POST that some give when it is done
		return outcome{v1alpha1.CategoryValidation, failure.TypeRedirect, status, certain}
	}
	elsewhere := map[string]string{"Location": "https://other.example/?" + token}
	tests := map[string]struct {
		answer  answer
		want    outcome
		message string
	}{
		"an empty object":               {answer{200, nil, `{}`}, isUncertain, "starting"},
		"an empty body":                 {answer{200, nil, ``}, isUncertain, "starting"},
		"a page":                        {answer{200, nil, html}, isUncertain, "starting"},
		"null":                          {answer{200, nil, `null`}, isUncertain, ""},
		"an empty list":                 {answer{200, nil, `[]`}, isUncertain, ""},
		"a list":                        {answer{200, nil, `[{"id":"1"}]`}, isUncertain, ""},
		"a text":                        {answer{200, nil, `"1"`}, isUncertain, ""},
		"an id of null":                 {answer{200, nil, `{"id":null}`}, isUncertain, ""},
		"an empty id":                   {answer{200, nil, `{"id":""}`}, isUncertain, ""},
		"an id that is an object":       {answer{200, nil, `{"id":{"a":"` + token + `"}}`}, isUncertain, ""},
		"an id that leads elsewhere":    {answer{200, nil, `{"id":".."}`}, isUncertain, ""},
		"an id of control characters":   {answer{200, nil, `{"id":"1\u001b"}`}, isUncertain, ""},
		"an error that calls itself OK": {answer{200, nil, `{"error":"no"}`}, isUncertain, ""},
		"a cut-off object":              {answer{200, nil, `{"id":"1"`}, isUncertain, ""},
		"two objects":                   {answer{200, nil, `{"id":"1"}{"id":"2"}`}, isUncertain, ""},
		"202":                           {answer{202, nil, `{"id":"1"}`}, outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 202, false}, ""},
		"204":                           {answer{204, nil, ``}, outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 204, false}, ""},
		"300":                           {answer{300, elsewhere, ``}, redirect(300), "redirects"},
		"301":                           {answer{301, elsewhere, ``}, redirect(301), "redirects"},
		"302":                           {answer{302, elsewhere, ``}, redirect(302), "redirects"},
		"303":                           {answer{303, elsewhere, ``}, redirect(303), "redirects"},
		"304":                           {answer{304, elsewhere, ``}, redirect(304), "redirects"},
		"307":                           {answer{307, elsewhere, ``}, redirect(307), "redirects"},
		"308":                           {answer{308, elsewhere, ``}, redirect(308), "redirects"},
		"400 of GoToSocial": {
			answer{400, nil, `{"error":"Bad Request: status too long, 5001 characters provided (including spoiler/content warning) but limit is 5000"}`},
			outcome{v1alpha1.CategoryValidation, failure.TypeTooLong, 400, true}, "limit is 5000",
		},
		"401": {
			answer{401, nil, `{"error":"The access token is invalid"}`},
			outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 401, true}, "refused the access token. Make a new one in the preferences of the account, under Development. The server says: The access token is invalid.",
		},
		"401 of a server that says it was not told the token": {
			answer{401, nil, `{"error":"Unauthorized: token not supplied"}`},
			outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 401, true}, "under Development. The server says: Unauthorized: token not supplied.",
		},
		"402": {answer{402, nil, ``}, outcome{v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, 402, true}, ""},
		"403 for the scope": {
			answer{403, nil, `{"error":"This action is outside the authorized scopes"}`},
			outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 403, true}, "scope write:statuses",
		},
		"403 for the scope, said in a header": {
			answer{403, map[string]string{"WWW-Authenticate": `Bearer realm="Doorkeeper", error="insufficient_scope"`}, `{"error":"no"}`},
			outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 403, true}, "scope write:statuses",
		},
		"403 for the account": {
			answer{403, nil, `{"error":"Your login is currently disabled"}`},
			outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 403, true}, "403. The access token may lack a scope, or the account be suspended, disabled or unconfirmed. The server says: Your login is currently disabled.",
		},
		"403 of a firewall": {answer{403, nil, html}, outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 403, true}, "firewall"},
		"404": {
			answer{404, nil, html}, outcome{v1alpha1.CategoryValidation, failure.TypeHTTPStatus, 404, true}, "Is this a Mastodon server?",
		},
		"408": {answer{408, nil, ``}, outcome{v1alpha1.CategoryNetwork, failure.TypeHTTPStatus, 408, false}, ""},
		"413": {answer{413, nil, ``}, outcome{v1alpha1.CategoryValidation, failure.TypeTooLong, 413, true}, ""},
		"422 of Mastodon": {
			answer{422, nil, `{"error":"Validation failed: Text character limit of 500 exceeded"}`},
			outcome{v1alpha1.CategoryValidation, failure.TypeTooLong, 422, true}, "character limit of 500 exceeded",
		},
		"422": {
			answer{422, nil, `{"error":"Validation failed: Text can't be blank"}`},
			outcome{v1alpha1.CategoryValidation, failure.TypeHTTPStatus, 422, true}, "can't be blank",
		},
		"429": {answer{429, nil, `{"error":"Too many requests"}`}, outcome{v1alpha1.CategoryRateLimit, failure.TypeThrottled, 429, true}, ""},
		"500": {answer{500, nil, `{"error":"it ` + token + ` broke"}`}, outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 500, false}, failure.Masked},
		"502": {answer{502, nil, html}, outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 502, false}, "502 Bad Gateway."},
		"503": {answer{503, nil, html}, outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503, false}, ""},
		"520": {answer{520, nil, html}, outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 520, false}, "answered 520."},
		"999": {answer{999, nil, html}, outcome{v1alpha1.CategoryUnknown, failure.TypeHTTPStatus, 999, false}, ""},
		"an error of control characters and great length": {
			answer{422, nil, `{"error":"\u202ea\u0000 b\n\n` + strings.Repeat("長", 500) + `"}`},
			outcome{v1alpha1.CategoryValidation, failure.TypeHTTPStatus, 422, true}, ": a b 長",
		},
		"an answer without end": {
			answer{200, nil, strings.Repeat(" ", maxAnswer+1)},
			outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0, false}, "larger than the limit",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				test.answer.ServeHTTP(w, r)
			})
			_, err := newClient(t, server).Deliver(t.Context(), "key", destination.Post{Text: "text"})
			wantOutcome(t, err, test.want)
			got := failed(t, err)
			if !strings.Contains(got.Error(), test.message) || len(got.Message) > 1000 || strings.ContainsAny(got.Message, "\x00\n\u202e") {
				t.Errorf("message is %q, want %q in it", got.Message, test.message)
			}
			if requests.Load() != 1 {
				t.Errorf("%d requests, want 1", requests.Load())
			}
		})
	}
}

// Servers disagree about the types of fields that nobody needs here.
func TestSuccessIsAnID(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want destination.Receipt
	}{
		"a number as Pixelfed's": {`{"id":42,"url":"https://example.social/p/42"}`, destination.Receipt{ID: "42", URL: "https://example.social/p/42"}},
		"no URL":                 {`{"id":"1","url":null}`, destination.Receipt{ID: "1"}},
		"a URL that is none":     {`{"id":"1","url":"javascript:alert(1)"}`, destination.Receipt{ID: "1"}},
		"other types elsewhere": {
			`{"id":"1","created_at":"2026-11-20T12:00:00Z","edited_at":"","account":[],"poll":[],"card":"","sensitive":"no","application":[],"tags":{}}`,
			destination.Receipt{ID: "1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newClient(t, serve(t, answer{200, nil, test.body}.ServeHTTP)).Deliver(t.Context(), "k", destination.Post{Text: "text"})
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}
