// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/openaitest"
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

func throttledFor(wait time.Duration) outcome {
	return outcome{rateLimit, failure.TypeThrottled, 429, wait, false}
}

func spent(status int) outcome { return outcome{rateLimit, failure.TypeQuotaSpent, status, 0, true} }

func jsonBody(status int, body string) openaitest.Answer {
	return openaitest.Body(status, "application/json", body)
}

func TestFailures(t *testing.T) { // R3.1
	t.Parallel()
	throttled := openaitest.Throttled(0)
	subject.Fails(t, map[string]providertest.Failing{
		"too fast, for both":               {openaitest.Throttled(2*time.Second).WithHeader("Retry-After-Ms", "1500"), throttledFor(2 * time.Second), "", true},
		"too fast, until tokens are there": {throttled.WithHeader("X-RateLimit-Reset-Tokens", "6m0s"), throttledFor(6 * time.Minute), "", true},
		"too fast, until requests are":     {throttled.WithHeader("x-ratelimit-reset-requests", "8.64s"), throttledFor(8640 * time.Millisecond), "", true},
		"too fast, but not with requests": {throttled.WithHeader("x-ratelimit-reset-requests", "2h").WithHeader("x-ratelimit-remaining-requests", "99").
			WithHeader("x-ratelimit-reset-tokens", "20ms"), throttledFor(20 * time.Millisecond), "", true},
		"too fast, and what is asked wins": {openaitest.Throttled(time.Second).WithHeader("X-RateLimit-Reset-Tokens", "6m0s"), throttledFor(time.Second), "", true},
		"too fast, in words only":          {openaitest.Error(429, "requests", "rate_limit_exceeded", "Rate limit reached. Please try again in 7m12s. Visit us."), throttledFor(432 * time.Second), "", true},
		"too fast, for ever":               {throttled.WithHeader("Retry-After", "99999999999999999999"), throttledFor(failure.MaxWait), "", true},

		"an organization's limit": {openaitest.Error(403, "organization_spend_limit_exceeded", "", "No."), spent(403), "", true},
		"the hard limit":          {openaitest.Error(400, invalid, "billing_hard_limit_reached", "Billing hard limit has been reached"), spent(400), "", true},
		"no billing":              {openaitest.Error(429, "billing_not_active", "billing_not_active", "Your account is not active."), spent(429), "", true},
		"payment required":        {jsonBody(402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`), spent(402), "Insufficient", true},
		"spent, in words only":    {jsonBody(429, `{"error":{"message":"You exceeded your current quota."}}`), spent(429), "", true},

		"overloaded, with 529":      {jsonBody(529, `{}`), outcome{api, failure.TypeOverloaded, 529, 0, false}, "", true},
		"overloaded, with 500":      {openaitest.Error(500, "server_error", "server_is_overloaded", "Later."), outcome{api, failure.TypeOverloaded, 500, 0, false}, "", true},
		"an error of its own":       {openaitest.Internal(), outcome{api, failure.TypeHTTPStatus, 500, 0, false}, "500", true},
		"a gateway that waited":     {openaitest.Body(504, "text/html", ""), outcome{api, failure.TypeHTTPStatus, 504, 0, false}, "", true},
		"JSON that did not come":    {openaitest.Error(400, invalid, "json_validate_failed", "Failed to generate JSON."), outcome{api, failure.TypeMalformed, 400, 0, false}, "", true},
		"a key that vLLM refuses":   {jsonBody(401, `{"error":"Unauthorized"}`), outcome{auth, failure.TypeCredentials, 401, 0, false}, "Unauthorized", true},
		"a sign-in in the way":      {openaitest.Body(401, "text/html", "<h1>Sign in</h1>"), outcome{auth, failure.TypeCredentials, 401, 0, false}, "", true},
		"no access to the model":    {openaitest.Error(403, invalid, "model_not_found", "Project `p` does not have access to model `gpt-5-mini`"), outcome{validation, failure.TypeModelNotFound, 403, 0, false}, "access", true},
		"the model is not pulled":   {jsonBody(404, `{"error":{"message":"model \"llama3.2\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`), outcome{validation, failure.TypeModelNotFound, 404, 0, false}, "pulling", true},
		"the model, said by vLLM":   {jsonBody(404, `{"object":"error","message":"The model gpt does not exist.","type":"NotFoundError","param":null,"code":404}`), outcome{validation, failure.TypeModelNotFound, 404, 0, false}, "does not exist", true},
		"no such path":              {openaitest.NoSuchPath(), outcome{validation, failure.TypeModelNotFound, 404, 0, false}, "ends in /v1", true},
		"no such path, by Ollama":   {openaitest.Body(404, "text/plain", "404 page not found"), outcome{validation, failure.TypeModelNotFound, 404, 0, false}, "ends in /v1", true},
		"too long, said by vLLM":    {jsonBody(400, `{"error":{"message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}}`), outcome{validation, failure.TypeTooLong, 400, 0, false}, "", true},
		"too long, for llama.cpp":   {jsonBody(400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), outcome{validation, failure.TypeTooLong, 400, 0, false}, "", true},
		"too long, for a minute":    {openaitest.Error(429, "tokens", "rate_limit_exceeded", "Request too large for gpt-5-mini on tokens per min (TPM): Limit 30000, Requested 45000."), outcome{validation, failure.TypeTooLong, 429, 0, false}, "", true},
		"a request it cannot read":  {openaitest.Error(400, invalid, "", "Unknown role."), outcome{validation, "InvalidRequest", 400, 0, false}, "Unknown role", true},
		"a request that is refused": {jsonBody(422, `{"detail":[{"type":"missing","loc":["body","stop"],"msg":"Field required","input":{"messages":"the article"}}]}`), outcome{validation, "InvalidRequest", 422, 0, false}, "body.stop: Field required", true},
		"a status without a rule":   {openaitest.Error(418, "", "", "Teapot."), outcome{validation, failure.TypeHTTPStatus, 418, 0, false}, "418", true},
		"an error in a list":        {jsonBody(400, `[{"error":{"code":"insufficient_quota"}}]`), spent(400), "", true},

		"a filter before it":            {openaitest.Error(400, "", "content_filter", "The response was filtered."), outcome{validation, failure.TypeBlocked, 400, 0, false}, "content_filter", true},
		"a prompt that is flagged":      {openaitest.Error(400, invalid, "invalid_prompt", "Flagged."), outcome{validation, failure.TypeBlocked, 400, 0, false}, "invalid_prompt", true},
		"a refusal in words":            {openaitest.Text("I'm sorry, but I can't help with summarizing this article."), outcome{validation, failure.TypeBlocked, 0, 0, false}, "declined", false},
		"no choices":                    {jsonBody(200, `{"choices":[]}`), outcome{api, failure.TypeEmpty, 0, 0, false}, "without a text", true},
		"no text":                       {openaitest.Stopped("stop"), outcome{api, failure.TypeEmpty, 0, 0, false}, "without a text", false},
		"no text, for another reason":   {openaitest.Stopped("tool_calls"), outcome{api, failure.TypeEmpty, 0, 0, false}, "tool_calls", false},
		"no text, for a reason to come": {openaitest.Stopped("<b>"), outcome{api, failure.TypeEmpty, 0, 0, false}, "did not say why", false},
		"nothing but thoughts":          {openaitest.Text("<think>Hm."), outcome{api, failure.TypeEmpty, 0, 0, false}, "", false},
		"an answer that was given up":   {openaitest.Stopped("error"), outcome{api, failure.TypeMalformed, 0, 0, false}, "did not finish", false},
		"an answer of another form":     {jsonBody(200, `{"choices":"none"}`), outcome{api, failure.TypeMalformed, 0, 0, false}, "", true},
		"an error in a success":         {jsonBody(200, `{"error":{"message":"Later.","code":503}}`), outcome{api, failure.TypeOverloaded, 503, 0, false}, "", true},
		"a status in words":             {jsonBody(200, `{"error":{"message":"Later.","code":"502"}}`), outcome{api, failure.TypeHTTPStatus, 502, 0, false}, "", true},
		"throttled in a success":        {jsonBody(200, `{"error":{"message":"Slow.","type":"rate_limit_error"}}`), throttledFor(0), "", true},
		"spent in a success":            {jsonBody(200, `{"error":{"message":"No.","code":"insufficient_quota"}}`), spent(429), "", true},
		"any error in a success":        {jsonBody(200, `{"error":"something"}`), outcome{api, failure.TypeMalformed, 0, 0, false}, "something", true},
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	notFound := openaitest.Body(404, "application/json", `{"detail":"Not Found"}`)
	subject.Checks(t, map[string]providertest.Checking{
		"a wrong key":                     {[]openaitest.Answer{openaitest.KeyInvalid()}, &outcome{auth, failure.TypeCredentials, 401, 0, false}, "Secret"},
		"no such model":                   {[]openaitest.Answer{openaitest.ModelGone()}, &outcome{validation, failure.TypeModelNotFound, 404, 0, false}, subject.Model},
		"an answer that says nothing":     {[]openaitest.Answer{openaitest.Empty()}, &outcome{api, failure.TypeEmpty, 0, 0, false}, subject.Model},
		"a web page":                      {[]openaitest.Answer{openaitest.HTML()}, &outcome{api, failure.TypeMalformed, 0, 0, false}, "OpenAI API"},
		"a model of another form":         {[]openaitest.Answer{jsonBody(200, `{"id":{}}`)}, &outcome{api, failure.TypeMalformed, 0, 0, false}, ""},
		"overloaded, and not repeated":    {[]openaitest.Answer{openaitest.Overloaded()}, &outcome{api, failure.TypeOverloaded, 503, 0, false}, ""},
		"too fast":                        {[]openaitest.Answer{openaitest.Throttled(36 * time.Second)}, &outcome{rateLimit, failure.TypeThrottled, 429, 36 * time.Second, false}, ""},
		"an error in a success":           {[]openaitest.Answer{jsonBody(200, `{"error":{"code":401,"message":"No."}}`)}, &outcome{auth, failure.TypeCredentials, 401, 0, false}, ""},
		"only the list, as vLLM":          {[]openaitest.Answer{notFound, openaitest.Models("Qwen/Qwen3-8B")}, nil, ""},
		"only the list, and a wrong key":  {[]openaitest.Answer{notFound, jsonBody(401, `{"error":"Unauthorized"}`)}, &outcome{auth, failure.TypeCredentials, 401, 0, false}, ""},
		"only the list, which is broken":  {[]openaitest.Answer{notFound, openaitest.HTML()}, &outcome{api, failure.TypeMalformed, 0, 0, false}, ""},
		"neither, and no word of a model": {[]openaitest.Answer{notFound, notFound}, nil, ""},
		"a method that is not allowed":    {[]openaitest.Answer{openaitest.Body(405, "text/plain", ""), openaitest.Body(501, "text/plain", "")}, nil, ""},
		"a path that OpenAI has not":      {[]openaitest.Answer{openaitest.NoSuchPath(), openaitest.Models()}, nil, ""},
	})
}

// TestSDKAsksNothingByItself: a retry of the SDK's own would be paid for, and would hold a worker.
func TestSDKAsksNothingByItself(t *testing.T) {
	t.Parallel()
	p := subject.Client(t, subject.Serve(t).URL)
	ctx, _ := p.call(t.Context())
	if _, err := p.models.Get(ctx, subject.Model); err != nil {
		t.Errorf("the request that was asked for: %v", err)
	}
	if _, err := p.models.Get(ctx, subject.Model); err == nil {
		t.Error("the same request was made twice")
	}
	if _, err := p.models.Get(t.Context(), subject.Model); err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("error is %v", err)
	}
}

// A failure goes to the caller as it is: the SDK neither waits nor tries again.
func TestSDKDoesNotRetry(t *testing.T) { // R3.3
	t.Parallel()
	server := subject.Serve(t)
	server.NextModel(openaitest.Overloaded())
	p := subject.Client(t, server.URL)
	ctx, _ := p.call(t.Context())
	if _, err := p.models.Get(ctx, subject.Model); err == nil || strings.Contains(err.Error(), "not asked for") {
		t.Errorf("error is %v", err)
	}
}

func TestAnyErrorIsClassified(t *testing.T) {
	t.Parallel()
	p := subject.Client(t, DefaultEndpoint)
	words := rapid.SampledFrom([]string{"insufficient_quota", "model_not_found", "rate_limit_exceeded", "x", "", "503", "content_filter"})
	bodies := rapid.Custom(func(t *rapid.T) []byte {
		return []byte(`{"error":{"message":"` + words.Draw(t, "message") + `","code":"` + words.Draw(t, "code") + `","type":"` + words.Draw(t, "type") + `"}}`)
	})
	providertest.AnyErrorIsClassified(t, bodies, func(t *rapid.T, status int, header http.Header, body []byte) *failure.Error {
		got, _ := p.refused(status, header, body)
		if got.Status != status {
			t.Errorf("status is %d", got.Status)
		}
		return got
	})
}
