// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	fake "github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

func init() { portion.Draws(25) }

// Categories and outcomes, for the tables to be readable.
const (
	network    = v1alpha1.CategoryNetwork
	rateLimit  = v1alpha1.CategoryRateLimit
	auth       = v1alpha1.CategoryAuth
	api        = v1alpha1.CategoryAPI
	validation = v1alpha1.CategoryValidation
)

type outcome = providertest.Outcome

const (
	invalid = "invalid_request_error"
	jsonDoc = "application/json"
)

func TestFailures(t *testing.T) { // R3.1
	t.Parallel()
	subject.Fails(t, map[string]providertest.Failing{
		"too fast, until the reset": {fake.Throttled(0).WithHeader("anthropic-ratelimit-requests-reset", "2026-04-01T09:00:50Z").WithHeader("anthropic-ratelimit-requests-remaining", "0"), outcome{rateLimit, failure.TypeThrottled, 429, 50 * time.Second, false}, "", true},
		"too fast, by its type":     {fake.Error(500, "rate_limit_error", "Slow down."), outcome{rateLimit, failure.TypeThrottled, 500, 0, false}, "", true},

		"the spend limit, by its code":   {fake.Body(429, jsonDoc, `{"error":{"type":"rate_limit_error","error_code":"enforced_spend_limit_reached"}}`), outcome{rateLimit, failure.TypeQuotaSpent, 429, 0, true}, "budget", true},
		"the spend limit, by a detail":   {fake.Body(429, jsonDoc, `{"error":{"type":"rate_limit_error","message":"No.","details":{"error_code":"enforced_spend_limit_reached"}}}`), outcome{rateLimit, failure.TypeQuotaSpent, 429, 0, true}, "budget", true},
		"the spend limit, in words only": {fake.Error(429, "rate_limit_error", "This request would exceed your account's monthly spend limit. Please try again later."), outcome{rateLimit, failure.TypeQuotaSpent, 429, 0, true}, "", true},
		"usage limits, until next month": {fake.UsageLimits(providertest.Now.AddDate(0, 1, 0)), outcome{rateLimit, failure.TypeQuotaSpent, 400, failure.MaxWait, true}, "", true},

		"overloaded, by its type": {fake.Error(500, "overloaded_error", "Overloaded"), outcome{api, failure.TypeOverloaded, 500, 0, false}, "", true},
		"down for the moment":     {fake.Body(503, "text/html", "<h1>Unavailable</h1>"), outcome{api, failure.TypeOverloaded, 503, 0, false}, "", true},
		"an error of its own":     {fake.Internal(), outcome{api, failure.TypeHTTPStatus, 500, 0, false}, "500", true},
		"a deadline of its own":   {fake.Timeout(), outcome{api, failure.TypeHTTPStatus, 504, 0, false}, "504", true},

		"a gateway that wants a key":  {fake.Body(401, "text/plain", "who are you?"), outcome{auth, failure.TypeCredentials, 401, 0, false}, "", true},
		"nothing is there":            {fake.HTML(404), outcome{validation, failure.TypeModelNotFound, 404, 0, false}, "endpoint", true},
		"too long with its answer":    {fake.Error(400, invalid, "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"), outcome{validation, failure.TypeTooLong, 400, 0, false}, "", true},
		"a request it cannot read":    {fake.Error(400, invalid, "output_config: Extra inputs are not permitted"), outcome{validation, "InvalidRequest", 400, 0, false}, "output_config", true},
		"a status without a rule":     {fake.Error(418, "teapot_error", "Teapot."), outcome{validation, failure.TypeHTTPStatus, 418, 0, false}, "418", true},
		"a refusal without a word":    {fake.Refusal(""), outcome{validation, failure.TypeBlocked, 0, 0, false}, "did not say why", false},
		"a refusal after some text":   {fake.Stopped("refusal", `{"summary":"A pl`), outcome{validation, failure.TypeBlocked, 0, 0, false}, "", false},
		"no content":                  {fake.Message("end_turn"), outcome{api, failure.TypeEmpty, 0, 0, false}, "end_turn", false},
		"content that is none":        {fake.Body(200, jsonDoc, `{"type":"message","content":"none","stop_reason":"end_turn"}`), outcome{api, failure.TypeEmpty, 0, 0, false}, "", true},
		"thoughts only":               {fake.Message("end_turn", map[string]any{"type": "thinking", "thinking": "Hm.", "signature": ""}), outcome{api, failure.TypeEmpty, 0, 0, false}, "without a text", false},
		"a pause":                     {fake.Stopped("pause_turn", `{"summary":"A plan."}`), outcome{api, failure.TypeMalformed, 0, 0, false}, "pause_turn", false},
		"a pause before a word":       {fake.Stopped("pause_turn", ""), outcome{api, failure.TypeEmpty, 0, 0, false}, "pause_turn", false},
		"a call of a tool":            {fake.ToolUse(`{"summ`), outcome{api, failure.TypeEmpty, 0, 0, false}, "tool_use", false},
		"an end for a reason to come": {fake.Stopped("mood", `{"summary":"A plan."}`), outcome{api, failure.TypeMalformed, 0, 0, false}, "mood", false},
		"a connection that broke":     {fake.CutOff(), outcome{network, failure.TypeConnection, 0, 0, false}, "", true},
		"null":                        {fake.Body(200, jsonDoc, `null`), outcome{api, failure.TypeMalformed, 0, 0, false}, "", true},
		"a stream":                    {fake.Body(200, "text/event-stream", "event: ping\ndata: {}\n\n"), outcome{api, failure.TypeMalformed, 0, 0, false}, "", true},
		"an error in a success":       {fake.Error(200, "overloaded_error", "Overloaded"), outcome{api, failure.TypeOverloaded, 529, 0, false}, "", true},
		"a vague error in a success":  {fake.Error(200, "api_error", "Oops"), outcome{api, failure.TypeHTTPStatus, 500, 0, false}, "", true},
	})
}

// TestErrorsNameTheRequest: support asks for it.
func TestErrorsNameTheRequest(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	server.Next(fake.Internal())
	_, err := subject.Client(t, server.URL).Generate(t.Context(), providertest.Article())
	if got := providertest.Failed(t, err); !strings.Contains(got.Err.Error(), "api_error (request req_011C") {
		t.Errorf("the error behind it is %v", got.Err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	subject.Checks(t, map[string]providertest.Checking{
		"a wrong key":                  {[]fake.Answer{fake.KeyInvalid()}, &outcome{auth, failure.TypeCredentials, 401, 0, false}, "Secret"},
		"no such model":                {[]fake.Answer{fake.ModelGone()}, &outcome{validation, failure.TypeModelNotFound, 404, 0, false}, subject.Model},
		"a model that is retired":      {[]fake.Answer{fake.ModelWith("retired", true)}, &outcome{validation, failure.TypeModelNotFound, 0, 0, false}, "no longer"},
		"a model without schemas":      {[]fake.Answer{fake.ModelWith("active", false)}, &outcome{validation, failure.TypeUnsupported, 0, 0, false}, "structured outputs"},
		"an answer that says nothing":  {[]fake.Answer{fake.Empty()}, &outcome{api, failure.TypeEmpty, 0, 0, false}, subject.Model},
		"a web page":                   {[]fake.Answer{fake.HTML(200)}, &outcome{api, failure.TypeMalformed, 0, 0, false}, "Anthropic API"},
		"overloaded, and not repeated": {[]fake.Answer{fake.Overloaded()}, &outcome{api, failure.TypeOverloaded, 529, 0, false}, ""},
		"too fast, with a time":        {[]fake.Answer{fake.Throttled(36 * time.Second)}, &outcome{rateLimit, failure.TypeThrottled, 429, 36 * time.Second, false}, ""},

		"a model that is deprecated will do":      {[]fake.Answer{fake.ModelWith("deprecated", true)}, nil, ""},
		"a gateway that knows names only will do": {[]fake.Answer{fake.Body(200, jsonDoc, `{"id":"claude"}`)}, nil, ""},
		"an answer of another version will do":    {[]fake.Answer{fake.Body(200, jsonDoc, `{"id":"claude","created_at":"soon","lifecycle":7,"capabilities":[]}`)}, nil, ""},
	})
}

func TestAnyErrorIsClassified(t *testing.T) {
	t.Parallel()
	p := subject.Client(t, DefaultEndpoint)
	kinds := slices.Sorted(maps.Keys(statuses))
	bodies := rapid.Map(rapid.SampledFrom(append(kinds, "x", invalid, "api_error")), func(kind string) []byte {
		return []byte(`{"error":{"type":"` + kind + `","details":[]}}`)
	})
	providertest.AnyErrorIsClassified(t, bodies, func(_ *rapid.T, status int, header http.Header, body []byte) *failure.Error {
		return p.refused(status, header, body)
	})
}

// Whatever a success says, it is read without a panic.
func TestAnyMessageIsRead(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	p := subject.Client(t, server.URL)
	values := []string{`null`, `0`, `-1e99`, `"text"`, `[]`, `{}`, `[null]`, `[{"type":"text","text":null}]`, `"end_turn"`, `"max_tokens"`,
		`{"output_tokens":-9e18}`, `[{"type":{}}]`, `[{"type":"tool_use","input":"{"}]`, `{"category":[]}`, `[[]]`}
	rapid.Check(t, func(rt *rapid.T) {
		var fields []string
		for _, name := range []string{"type", "content", "stop_reason", "stop_details", "usage", "model", "id", "capabilities"} {
			fields = append(fields, `"`+name+`":`+rapid.SampledFrom(values).Draw(rt, name))
		}
		answer := fake.Body(http.StatusOK, jsonDoc, "{"+strings.Join(fields, ",")+"}")
		server.OnCall(func(fake.Call) (fake.Answer, bool) { return answer, true })
		response, err := p.Generate(t.Context(), providertest.Article())
		if err == nil || response.Tokens < 0 {
			rt.Errorf("response is %+v with %v", response, err)
		}
		server.NextModel(answer)
		_ = p.Check(t.Context())
	})
}

func TestWaits(t *testing.T) {
	t.Parallel()
	const reset, left = "Anthropic-Ratelimit-Tokens-Reset", "Anthropic-Ratelimit-Tokens-Remaining"
	spent, throttled := modelapi.Refusal{Meaning: 429, Type: failure.TypeQuotaSpent}, modelapi.Refusal{Meaning: 429}
	header := func(pairs ...string) http.Header {
		out := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			out.Set(pairs[i], pairs[i+1])
		}
		return out
	}
	tests := map[string]struct {
		header  http.Header
		words   string
		refusal modelapi.Refusal
		want    time.Duration
	}{
		"seconds":                        {header("Retry-After", "17"), "", modelapi.Refusal{}, 17 * time.Second},
		"a fraction":                     {header("Retry-After", "0.5"), "", modelapi.Refusal{}, 500 * time.Millisecond},
		"no time at all":                 {header("Retry-After", "0"), "", modelapi.Refusal{}, 0},
		"a negative time":                {header("Retry-After", "-5"), "", modelapi.Refusal{}, 0},
		"no number":                      {header("Retry-After", "NaN"), "", modelapi.Refusal{}, 0},
		"for ever":                       {header("Retry-After", "99999999999999999999"), "", modelapi.Refusal{}, failure.MaxWait},
		"a date":                         {header("Retry-After", "Wed, 01 Apr 2026 09:00:10 GMT"), "", modelapi.Refusal{}, 10 * time.Second},
		"a date that has passed":         {header("Retry-After", "Wed, 01 Apr 2026 08:00:00 GMT"), "", modelapi.Refusal{}, 0},
		"a reset":                        {header(reset, "2026-04-01T09:00:30Z"), "", throttled, 30 * time.Second},
		"a reset that has passed":        {header(reset, "2026-04-01T08:59:30Z"), "", throttled, 0},
		"a reset of what is left":        {header(reset, "2026-04-01T09:00:30Z", left, "5"), "", throttled, 0},
		"the longest reset":              {header(reset, "2026-04-01T09:00:30Z", "Anthropic-Ratelimit-Output-Tokens-Reset", "2026-04-01T09:00:40Z"), "", throttled, 40 * time.Second},
		"a reset is the last resort":     {header(reset, "2026-04-01T09:00:30Z", "Retry-After", "3"), "", throttled, 3 * time.Second},
		"a reset beside an outage":       {header(reset, "2026-04-01T09:00:30Z"), "", modelapi.Refusal{Meaning: 529}, 0},
		"a reset beside a spent budget":  {header(reset, "2026-04-01T09:00:30Z"), "", spent, 0},
		"a budget until a day":           {nil, "You will regain access on 2026-04-03.", spent, 39 * time.Hour},
		"a budget until an hour":         {nil, "You will regain access on 2026-04-01 at 12:30 UTC.", spent, 210 * time.Minute},
		"a budget until no day that is":  {nil, "You will regain access on 2026-99-99 at 12:30 UTC.", spent, 0},
		"the words of another's failure": {nil, "You will regain access on 2026-04-03.", modelapi.Refusal{}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := waitHint(test.header, test.words, test.refusal, providertest.Now); got != test.want {
				t.Errorf("wait is %s, want %s", got, test.want)
			}
		})
	}
}
