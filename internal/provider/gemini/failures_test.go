// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/geminitest"
)

// outcome is what a caller decides by.
type outcome struct {
	Category   v1alpha1.Category
	Type       string
	Status     int
	RetryAfter time.Duration
	Quota      bool
}

func outcomeOf(failed *failure.Error) outcome {
	return outcome{failed.Category, failed.Type, failed.Status, failed.RetryAfter, failed.Quota}
}

// Categories, for the tables to be readable.
const (
	network    = v1alpha1.CategoryNetwork
	rateLimit  = v1alpha1.CategoryRateLimit
	auth       = v1alpha1.CategoryAuth
	api        = v1alpha1.CategoryAPI
	validation = v1alpha1.CategoryValidation
)

func TestFailures(t *testing.T) { // R3.1
	t.Parallel()
	tests := map[string]struct {
		answer geminitest.Answer
		want   outcome
		says   string
		// free is set where the API counts no tokens.
		free bool
	}{
		"too fast, with a header": {geminitest.Throttled(0).WithHeader("Retry-After", "17"), outcome{rateLimit, failure.TypeThrottled, 429, 17 * time.Second, false}, "", true},
		"too fast, in words only": {geminitest.Error(429, "RESOURCE_EXHAUSTED", "Slow down. Please retry in 3.5s."), outcome{rateLimit, failure.TypeThrottled, 429, 3500 * time.Millisecond, false}, "", true},

		"a quota of 0":          {geminitest.Error(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", map[string]any{"violations": []any{map[string]any{"quotaId": "PerMinute", "quotaValue": "0"}}}), outcome{rateLimit, failure.TypeQuotaSpent, 429, 0, true}, "", true},
		"a limit that is not 0": {geminitest.Error(429, "RESOURCE_EXHAUSTED", "Quota exceeded, limit: 0.5"), outcome{rateLimit, failure.TypeThrottled, 429, 0, false}, "", true},

		"an error of its own":   {geminitest.Internal(), outcome{api, failure.TypeHTTPStatus, 500, 0, false}, "500", true},
		"a deadline of its own": {geminitest.Error(504, "DEADLINE_EXCEEDED", "Too slow."), outcome{api, failure.TypeHTTPStatus, 504, 0, false}, "", true},

		"a key that is none, said so": {geminitest.Error(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."), outcome{auth, failure.TypeCredentials, 400, 0, false}, "expired", true},
		"a key that is none, coded":   {geminitest.Error(400, "INVALID_ARGUMENT", "Ungültig.", map[string]any{"reason": "API_KEY_INVALID"}), outcome{auth, failure.TypeCredentials, 400, 0, false}, "", true},

		"a request it cannot read": {geminitest.Error(400, "INVALID_ARGUMENT", "JSON mode is not enabled for models/gemma-3."), outcome{validation, "InvalidRequest", 400, 0, false}, "JSON mode", true},
		"a status without a rule":  {geminitest.Error(418, "", "Teapot."), outcome{validation, failure.TypeHTTPStatus, 418, 0, false}, "418", true},
		"an error in a list":       {geminitest.Body(400, "application/json", `[{"error":{"code":400,"status":"FAILED_PRECONDITION"}}]`), outcome{rateLimit, failure.TypeQuotaSpent, 400, 0, true}, "", true},

		"a prompt blocked for no cause": {geminitest.Blocked("OTHER"), outcome{validation, failure.TypeBlocked, 0, 0, false}, "", false},
		"on a list of words":            {geminitest.Stopped("BLOCKLIST"), outcome{validation, failure.TypeBlocked, 0, 0, false}, "", false},
		"personal":                      {geminitest.Stopped("SPII"), outcome{validation, failure.TypeBlocked, 0, 0, false}, "", false},
		"a language it does not know":   {geminitest.Stopped("LANGUAGE"), outcome{validation, failure.TypeBlocked, 0, 0, false}, "", false},

		"no text":                       {geminitest.Stopped("STOP"), outcome{api, failure.TypeEmpty, 0, 0, false}, "without a text", false},
		"no text, for another reason":   {geminitest.Stopped("OTHER"), outcome{api, failure.TypeEmpty, 0, 0, false}, "OTHER", false},
		"no text, for a reason to come": {geminitest.Stopped("MOOD"), outcome{api, failure.TypeEmpty, 0, 0, false}, "MOOD", false},
		"an answer of another form":     {geminitest.Body(200, "application/json", `{"candidates":"none"}`), outcome{api, failure.TypeMalformed, 0, 0, false}, "", true},
		"an error in a success":         {geminitest.Body(200, "application/json", `{"error":{"code":503,"status":"UNAVAILABLE"}}`), outcome{api, failure.TypeOverloaded, 503, 0, false}, "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t)
			// Were the same asked again, it would succeed.
			server.Next(test.answer)
			p := newProvider(t, server.URL)
			response, err := p.Generate(t.Context(), article())
			got := failed(t, err)
			if diff := cmp.Diff(test.want, outcomeOf(got)); diff != "" {
				t.Errorf("outcome of %q (-want +got):\n%s", got, diff)
			}
			if !strings.Contains(got.Message, test.says) {
				t.Errorf("message is %q, want it to say %q", got.Message, test.says)
			}
			if calls := server.Calls(); len(calls) != 1 || calls[0].KeyElsewhere {
				t.Errorf("%d calls, want one, without the key in its URL", len(calls))
			}
			if response.Summary != "" || (response.Tokens == 0) != test.free {
				t.Errorf("response is %+v", response)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer geminitest.Answer
		want   outcome
		says   string
	}{
		"a wrong key":                   {geminitest.KeyInvalid(), outcome{auth, failure.TypeCredentials, 400, 0, false}, "Secret"},
		"no such model":                 {geminitest.ModelGone(), outcome{validation, failure.TypeModelNotFound, 404, 0, false}, model},
		"a model that writes no text":   {geminitest.Model("embedContent"), outcome{validation, failure.TypeUnsupported, 0, 0, false}, model},
		"an answer that says nothing":   {geminitest.Empty(), outcome{api, failure.TypeEmpty, 0, 0, false}, model},
		"a web page":                    {geminitest.HTML(), outcome{api, failure.TypeMalformed, 0, 0, false}, "Gemini API"},
		"a model of another form":       {geminitest.Body(200, "application/json", `{"name":{}}`), outcome{api, failure.TypeMalformed, 0, 0, false}, ""},
		"overloaded, and not repeated":  {geminitest.Unavailable(), outcome{api, failure.TypeOverloaded, 503, 0, false}, ""},
		"too fast, with a delay of 36s": {geminitest.Throttled(36 * time.Second), outcome{rateLimit, failure.TypeThrottled, 429, 36 * time.Second, false}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t)
			server.NextModel(test.answer)
			p := newProvider(t, server.URL)
			got := failed(t, p.Check(t.Context()))
			if diff := cmp.Diff(test.want, outcomeOf(got)); diff != "" {
				t.Errorf("outcome of %q (-want +got):\n%s", got, diff)
			}
			if !strings.Contains(got.Message, test.says) {
				t.Errorf("message is %q, want it to say %q", got.Message, test.says)
			}
			if server.Checks() != 1 {
				t.Errorf("%d questions", server.Checks())
			}
			if err := p.Check(t.Context()); err != nil {
				t.Errorf("the next question: %v", err)
			}
		})
	}
}

// TestSDKConnectsNowhere: the connection that the SDK opens by itself would not be guarded.
func TestSDKConnectsNowhere(t *testing.T) {
	t.Parallel()
	if conn, err := refuse(t.Context(), "generativelanguage.googleapis.com:443"); conn != nil || !errors.Is(err, errRefused) {
		t.Errorf("connected to %v: %v", conn, err)
	}
	sdk, err := client()
	if err != nil {
		t.Fatal(err)
	}
	p := newProvider(t, serve(t).URL)
	ctx, _ := p.call(t.Context())
	if _, err := sdk.GenerativeModel(model).Info(ctx); err != nil {
		t.Errorf("the request that was asked for: %v", err)
	}
	if _, err := sdk.GenerativeModel(model).Info(ctx); err == nil { // a retry of the SDK's own
		t.Error("the same request was made twice")
	}
	// A request that no Generate and no Check has made is not let out.
	if _, err := sdk.GenerativeModel(model).Info(t.Context()); err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("error is %v", err)
	}
}

func TestAnyErrorIsClassified(t *testing.T) {
	t.Parallel()
	p := newProvider(t, DefaultEndpoint)
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.IntRange(201, 599).Draw(t, "status")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		header := http.Header{"Retry-After": {rapid.String().Draw(t, "retry after")}}
		got := p.refused(status, header, body)
		if got.Category == "" || got.Category == v1alpha1.CategoryUnknown || got.Type == "" || got.Message == "" || got.Status != status {
			t.Errorf("failure is %+v", got)
		}
		if got.RetryAfter < 0 || got.RetryAfter > failure.MaxWait {
			t.Errorf("RetryAfter is %s", got.RetryAfter)
		}
	})
}
