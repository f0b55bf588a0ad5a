// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

// Categories and outcomes, for the tables to be readable.
const (
	rateLimit  = v1alpha1.CategoryRateLimit
	auth       = v1alpha1.CategoryAuth
	api        = v1alpha1.CategoryAPI
	validation = v1alpha1.CategoryValidation
)

type outcome = providertest.Outcome

func TestFailures(t *testing.T) { // R3.1
	t.Parallel()
	subject.Fails(t, map[string]providertest.Failing{
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
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	subject.Checks(t, map[string]providertest.Checking{
		"a wrong key":                   {[]geminitest.Answer{geminitest.KeyInvalid()}, &outcome{auth, failure.TypeCredentials, 400, 0, false}, "Secret"},
		"no such model":                 {[]geminitest.Answer{geminitest.ModelGone()}, &outcome{validation, failure.TypeModelNotFound, 404, 0, false}, subject.Model},
		"a model that writes no text":   {[]geminitest.Answer{geminitest.Model("embedContent")}, &outcome{validation, failure.TypeUnsupported, 0, 0, false}, subject.Model},
		"an answer that says nothing":   {[]geminitest.Answer{geminitest.Empty()}, &outcome{api, failure.TypeEmpty, 0, 0, false}, subject.Model},
		"a web page":                    {[]geminitest.Answer{geminitest.HTML()}, &outcome{api, failure.TypeMalformed, 0, 0, false}, "Gemini API"},
		"a model of another form":       {[]geminitest.Answer{geminitest.Body(200, "application/json", `{"name":{}}`)}, &outcome{api, failure.TypeMalformed, 0, 0, false}, ""},
		"overloaded, and not repeated":  {[]geminitest.Answer{geminitest.Unavailable()}, &outcome{api, failure.TypeOverloaded, 503, 0, false}, ""},
		"too fast, with a delay of 36s": {[]geminitest.Answer{geminitest.Throttled(36 * time.Second)}, &outcome{rateLimit, failure.TypeThrottled, 429, 36 * time.Second, false}, ""},
	})
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
	p := subject.Client(t, subject.Serve(t).URL)
	ctx, _ := p.call(t.Context())
	if _, err := sdk.GenerativeModel(subject.Model).Info(ctx); err != nil {
		t.Errorf("the request that was asked for: %v", err)
	}
	if _, err := sdk.GenerativeModel(subject.Model).Info(ctx); err == nil { // a retry of the SDK's own
		t.Error("the same request was made twice")
	}
	// A request that no Generate and no Check has made is not let out.
	if _, err := sdk.GenerativeModel(subject.Model).Info(t.Context()); err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("error is %v", err)
	}
}

func TestAnyErrorIsClassified(t *testing.T) {
	t.Parallel()
	p := subject.Client(t, DefaultEndpoint)
	bodies := rapid.SampledFrom([][]byte{[]byte(`{"error":{}}`), []byte(`[{"error":{"status":"RESOURCE_EXHAUSTED"}}]`)})
	providertest.AnyErrorIsClassified(t, bodies, func(t *rapid.T, status int, header http.Header, body []byte) *failure.Error {
		got := p.refused(status, header, body)
		if got.Status != status {
			t.Errorf("status is %d", got.Status)
		}
		return got
	})
}
