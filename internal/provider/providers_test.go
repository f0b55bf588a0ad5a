// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/anthropic"
	"github.com/feed-operator/feed-operator/internal/provider/gemini"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
	"github.com/feed-operator/feed-operator/internal/provider/openai"
)

// client is what the providers that ask an API have in common.
type client interface {
	provider.Provider
	Check(ctx context.Context) error
}

// side is an API: the provider that asks it, and the server that stands in for it.
type side struct {
	model string
	start func(key string) *aitest.Server
	make  func(cfg modelapi.Config) (client, error)

	summary    func(text string) aitest.Answer
	text       func(text string) aitest.Answer
	verdict    func(valuable, complete bool, explanation, summary string) aitest.Answer
	cutOff     func(partial string) aitest.Answer
	error      func(status int, message string) aitest.Answer
	overloaded aitest.Answer
	tooLong    aitest.Answer
	// noRoom refuses a second try, with more room.
	noRoom aitest.Answer
}

const (
	theGemini    = "Gemini"
	theOpenAI    = "OpenAI"
	theAnthropic = "Anthropic"
)

var sides = map[string]side{
	theGemini: {
		model: "gemini-2.5-flash", start: geminitest.New,
		make:    func(cfg modelapi.Config) (client, error) { return gemini.New(cfg) },
		summary: geminitest.Summary, text: geminitest.Text, verdict: geminitest.Verdict, cutOff: geminitest.MaxTokens,
		error: func(status int, message string) aitest.Answer {
			return geminitest.Error(status, "INVALID_ARGUMENT", message)
		},
		overloaded: geminitest.Unavailable(), tooLong: geminitest.TooLong(),
		noRoom: geminitest.Error(400, "INVALID_ARGUMENT", "max_output_tokens exceeds the limit of 8192."),
	},
	theOpenAI: {
		model: "gpt-5-mini", start: openaitest.New,
		make:    func(cfg modelapi.Config) (client, error) { return openai.New(cfg) },
		summary: openaitest.Summary, text: openaitest.Text, verdict: openaitest.Verdict, cutOff: openaitest.Length,
		error: func(status int, message string) aitest.Answer {
			return openaitest.Error(status, "invalid_request_error", "odd", message)
		},
		overloaded: openaitest.Overloaded(), tooLong: openaitest.TooLong(),
		noRoom: openaitest.Error(400, "invalid_request_error", "invalid_value",
			"max_tokens is too large: 32768. This model supports at most 16384 completion tokens."),
	},
	theAnthropic: {
		model: "claude-haiku-4-5", start: anthropictest.New,
		make:    func(cfg modelapi.Config) (client, error) { return anthropic.New(cfg) },
		summary: anthropictest.Summary, text: anthropictest.Text, verdict: anthropictest.Verdict, cutOff: anthropictest.MaxTokens,
		error: func(status int, message string) aitest.Answer {
			return anthropictest.Error(status, "invalid_request_error", message)
		},
		overloaded: anthropictest.Overloaded(), tooLong: anthropictest.TooLong(),
		noRoom: anthropictest.Error(400, "invalid_request_error",
			"max_tokens: 32768 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022"),
	},
}

// onEachSide runs a test for each API.
func onEachSide(t *testing.T, test func(t *testing.T, api side)) {
	t.Helper()
	t.Parallel()
	for name, api := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, api)
		})
	}
}

// secretKey is recognised wherever it turns up. It has no shape that is masked anyway.
const secretKey = "recognisable+KEY/0123456789abcdef"

// today is what the clock of the providers shows.
var today = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// serve starts a server that stops with the test.
func (s side) serve(t *testing.T) *aitest.Server {
	t.Helper()
	server := s.start(secretKey)
	t.Cleanup(server.Close)
	return server
}

func wayOut() http.RoundTripper {
	return outbound.New(outbound.Config{
		UserAgent: "feed-operator/test", AllowHTTP: true, AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}).Transport(outbound.TransportOptions{FreshConnections: true})
}

func (s side) config(endpoint string) modelapi.Config {
	return modelapi.Config{
		Model: s.model, Endpoint: endpoint, APIKey: secretKey + "\n", Transport: wayOut(), Now: func() time.Time { return today },
	}
}

func (s side) client(t *testing.T, endpoint string) client {
	t.Helper()
	made, err := s.make(s.config(endpoint))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return made
}

func anArticle() provider.Request {
	return provider.Request{
		Title: "Council agrees on a new plan", URL: "https://example.org/news/1", MaxCharacters: 400,
		Text: "The council met on Tuesday and agreed on a new plan for the coming year.\n\nWork on the first goal begins in May.",
	}
}

func aLongArticle() provider.Request {
	request := anArticle()
	request.Text = strings.Repeat("The council agreed on a plan for the year. ", 1000)
	return request
}

func screenedArticle() provider.Request {
	request := anArticle()
	request.Screening = &provider.Screening{Criteria: "New rules that concern citizens."}
	return request
}

// failedAs returns the failure, and checks what holds for each: R5.6.
func failedAs(t *testing.T, err error) *failure.Error {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	//nolint:errorlint // the contract is that the error itself is a *failure.Error
	known, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("error is a %T, want *failure.Error: %v", err, err)
	}
	texts := []string{known.Message}
	for cause := error(known); cause != nil; cause = errors.Unwrap(cause) {
		texts = append(texts, cause.Error())
	}
	for _, text := range texts {
		if strings.Contains(text, secretKey[:8]) || text == "" {
			t.Errorf("a text is empty, or holds the key or the beginning of it: %q", text)
		}
	}
	return known
}

// class is a row of what goes wrong with an API, and what is made of it.
type class struct {
	Category v1alpha1.Category
	Type     string
	Quota    bool
	// Calls is how often the same article is sent.
	Calls int
}

// R3.1, R3.3, R3.9: each API has its own way to say the same, and all mean the same to those who ask.
func TestWhatAnAPISaysMeansTheSame(t *testing.T) {
	t.Parallel()
	classes := map[string]class{
		"throttle":  {v1alpha1.CategoryRateLimit, failure.TypeThrottled, false, 1},
		"quota":     {v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, true, 1},
		"overload":  {v1alpha1.CategoryAPI, failure.TypeOverloaded, false, 1},
		"auth":      {v1alpha1.CategoryAuth, failure.TypeCredentials, false, 1},
		"firewall":  {v1alpha1.CategoryAPI, failure.TypeHTTPStatus, false, 1},
		"gone":      {v1alpha1.CategoryValidation, failure.TypeModelNotFound, false, 1},
		"too long":  {v1alpha1.CategoryValidation, failure.TypeTooLong, false, 2}, // shortened once
		"blocked":   {v1alpha1.CategoryValidation, failure.TypeBlocked, false, 1},
		"truncated": {v1alpha1.CategoryAPI, failure.TypeTruncated, false, 2}, // with more room
		"empty":     {v1alpha1.CategoryAPI, failure.TypeEmpty, false, 1},
		"malformed": {v1alpha1.CategoryAPI, failure.TypeMalformed, false, 1},
		"too large": {v1alpha1.CategoryAPI, failure.TypeTooLarge, false, 1},
		"internal":  {v1alpha1.CategoryAPI, failure.TypeHTTPStatus, false, 1},
		"timeout":   {v1alpha1.CategoryNetwork, failure.TypeTimeout, false, 1},
		"redirect":  {v1alpha1.CategoryValidation, failure.TypeRedirect, false, 1},
	}
	const date = "Wed, 01 Apr 2026 09:02:00 GMT"
	firewall := aitest.HTML(http.StatusForbidden)
	endless := aitest.Body(http.StatusOK, "application/json", strings.Repeat(" ", 4<<20+1))
	elsewhere := aitest.Body(http.StatusTemporaryRedirect, "", "").WithHeader("Location", "https://example.org/")
	slow, bad := aitest.Body(http.StatusRequestTimeout, "text/plain", ""), aitest.Body(http.StatusBadGateway, "text/html", "<h1>Bad Gateway</h1>")
	rows := []struct {
		class, api, said string
		answer           aitest.Answer
		wait             time.Duration
	}{
		{"throttle", theOpenAI, "seconds", openaitest.Throttled(37 * time.Second), 37 * time.Second},
		{"throttle", theOpenAI, "milliseconds", openaitest.Throttled(0).WithHeader("Retry-After-Ms", "1500"), 1500 * time.Millisecond},
		{"throttle", theOpenAI, "a date", openaitest.Throttled(0).WithHeader("Retry-After", date), 2 * time.Minute},
		{"throttle", theOpenAI, "no time", openaitest.Throttled(0), 0},
		{"throttle", theAnthropic, "seconds", anthropictest.Throttled(37 * time.Second), 37 * time.Second},
		{"throttle", theAnthropic, "a date", anthropictest.Throttled(0).WithHeader("Retry-After", date), 2 * time.Minute},
		{"throttle", theAnthropic, "no time", anthropictest.Throttled(0), 0},
		{"throttle", theGemini, "a delay in the body", geminitest.Throttled(36500 * time.Millisecond), 36500 * time.Millisecond},
		{"throttle", theGemini, "a date", geminitest.Throttled(0).WithHeader("Retry-After", date), 2 * time.Minute},
		{"throttle", theGemini, "no time", geminitest.Throttled(0), 0},

		{"quota", theOpenAI, "insufficient_quota", openaitest.QuotaSpent(), 0},
		{"quota", theOpenAI, "credit_balance_exhausted", openaitest.Error(429, "billing_error", "credit_balance_exhausted", "No."), 0},
		{"quota", theOpenAI, "a spend limit", openaitest.Error(429, "billing_error", "project_spend_limit_exceeded", "No."), 0},
		{"quota", theOpenAI, "a short wait", openaitest.QuotaSpent().WithHeader("Retry-After", "20"), 0},
		{"quota", theOpenAI, "the time", openaitest.QuotaSpent().WithHeader("Retry-After", "7200"), 2 * time.Hour},
		{"quota", theAnthropic, "a spend limit", anthropictest.SpendLimit(), 0},
		{"quota", theAnthropic, "usage limits, and until when", anthropictest.UsageLimits(today.Add(15 * time.Hour)), 15 * time.Hour},
		{"quota", theAnthropic, "no credit", anthropictest.NoCredit(), 0},
		{"quota", theAnthropic, "402", anthropictest.Billing(), 0},
		{"quota", theAnthropic, "a short wait", anthropictest.SpendLimit().WithHeader("Retry-After", "120"), 0},
		{"quota", theAnthropic, "the time", anthropictest.SpendLimit().WithHeader("Retry-After", "7200"), 2 * time.Hour},
		{"quota", theGemini, "a quota per day, and a short wait", geminitest.QuotaPerDay(), 0},
		{"quota", theGemini, "a limit of 0", geminitest.QuotaZero(), 0},
		{"quota", theGemini, "402", geminitest.Error(402, "", "Pay."), 0},
		{"quota", theGemini, "FAILED_PRECONDITION", geminitest.NoBilling(), 0},
		{"quota", theGemini, "the time", geminitest.QuotaPerDay().WithHeader("Retry-After", "7200"), 2 * time.Hour},

		{"overload", theOpenAI, "503", openaitest.Overloaded(), 0},
		{"overload", theOpenAI, "503, and a time", openaitest.Overloaded().WithHeader("Retry-After", "5"), 5 * time.Second},
		{"overload", theAnthropic, "529", anthropictest.Overloaded(), 0},
		{"overload", theAnthropic, "529, and a time", anthropictest.Overloaded().WithHeader("Retry-After", "5"), 5 * time.Second},
		{"overload", theGemini, "503", geminitest.Unavailable(), 0},
		{"overload", theGemini, "503, and a time", geminitest.Unavailable().WithHeader("Retry-After", "5"), 5 * time.Second},

		{"auth", theOpenAI, "401", openaitest.KeyInvalid(), 0},
		{"auth", theOpenAI, "403", openaitest.Error(403, "invalid_request_error", "unsupported_country_region_territory", "Not here."), 0},
		{"auth", theAnthropic, "401", anthropictest.KeyInvalid(), 0},
		{"auth", theAnthropic, "403", anthropictest.KeyForbidden(), 0},
		{"auth", theGemini, "400 API_KEY_INVALID", geminitest.KeyInvalid(), 0},
		{"auth", theGemini, "401", geminitest.Error(401, "UNAUTHENTICATED", "Missing credentials."), 0},
		{"auth", theGemini, "403", geminitest.KeyForbidden(), 0},

		{"firewall", theOpenAI, "403 in HTML", firewall, 0},
		{"firewall", theAnthropic, "403 in HTML", firewall, 0},
		{"firewall", theGemini, "403 in HTML", firewall, 0},

		{"gone", theOpenAI, "404", openaitest.ModelGone(), 0},
		{"gone", theAnthropic, "404", anthropictest.ModelGone(), 0},
		{"gone", theGemini, "404", geminitest.ModelGone(), 0},

		{"too long", theOpenAI, "context_length_exceeded", openaitest.TooLong(), 0},
		{"too long", theAnthropic, "prompt is too long", anthropictest.TooLong(), 0},
		{"too long", theAnthropic, "413", anthropictest.TooLarge(), 0},
		{"too long", theGemini, "INVALID_ARGUMENT", geminitest.TooLong(), 0},

		{"blocked", theOpenAI, "content_filter", openaitest.Stopped("content_filter"), 0},
		{"blocked", theOpenAI, "a refusal", openaitest.Refusal(), 0},
		{"blocked", theAnthropic, "a refusal", anthropictest.Refusal("cyber"), 0},
		{"blocked", theAnthropic, "a refusal in words", anthropictest.Declined(), 0},
		{"blocked", theGemini, "a blocked prompt", geminitest.Blocked("PROHIBITED_CONTENT"), 0},
		{"blocked", theGemini, "SAFETY", geminitest.Stopped("SAFETY"), 0},
		{"blocked", theGemini, "RECITATION", geminitest.Stopped("RECITATION"), 0},
		{"blocked", theGemini, "PROHIBITED_CONTENT", geminitest.Stopped("PROHIBITED_CONTENT"), 0},
		{"blocked", theGemini, "a refusal in words", geminitest.Refusal(), 0},

		{"truncated", theOpenAI, "length", openaitest.Length(`{"summ`), 0},
		{"truncated", theAnthropic, "max_tokens", anthropictest.MaxTokens(`{"summ`), 0},
		{"truncated", theGemini, "MAX_TOKENS", geminitest.MaxTokens(`{"summ`), 0},

		{"empty", theOpenAI, "an empty object", openaitest.Empty(), 0},
		{"empty", theAnthropic, "an empty object", anthropictest.Empty(), 0},
		{"empty", theGemini, "an empty object", geminitest.Empty(), 0},

		{"malformed", theOpenAI, "a web page", openaitest.HTML(), 0},
		{"malformed", theOpenAI, "JSON that broke off", openaitest.BrokenJSON(), 0},
		{"malformed", theAnthropic, "a web page", anthropictest.HTML(200), 0},
		{"malformed", theAnthropic, "JSON that broke off", anthropictest.BrokenJSON(), 0},
		{"malformed", theGemini, "a web page", geminitest.HTML(), 0},
		{"malformed", theGemini, "JSON that broke off", geminitest.BrokenJSON(), 0},
	}
	for api := range sides {
		rows = append(rows, []struct {
			class, api, said string
			answer           aitest.Answer
			wait             time.Duration
		}{
			{"throttle", api, "429 of a gateway", aitest.Body(http.StatusTooManyRequests, "text/plain", "slow down"), 0},
			{"malformed", api, "a text that is no JSON", sides[api].text("Here is your summary: The council met."), 0},
			{"malformed", api, "JSON that is something else", sides[api].text(`["summary"]`), 0},
			{"malformed", api, "a list", aitest.Body(http.StatusOK, "application/json", "[]"), 0},
			{"malformed", api, "another success", aitest.Body(http.StatusNoContent, "", ""), 0},
			{"empty", api, "no summary", sides[api].text(`{"screening":null}`), 0},
			{"empty", api, "a blank summary", sides[api].summary(" \u200b\n"), 0},
			{"blocked", api, "a refusal in the summary", sides[api].summary("I'm sorry, but I cannot summarize this article."), 0},
			{"too long", api, "413 of a gateway", aitest.HTML(http.StatusRequestEntityTooLarge), 0},
			{"too large", api, "an answer without end", endless, 0},
			{"internal", api, "502 of a gateway", bad, 0},
			{"timeout", api, "408", slow, 0},
			{"redirect", api, "307", elsewhere, 0},
		}...)
	}
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row.class+" of "+row.api] = true
		t.Run(row.class+"/"+row.api+"/"+row.said, func(t *testing.T) {
			t.Parallel()
			api := sides[row.api]
			server := api.serve(t)
			server.OnCall(func(aitest.Call) (aitest.Answer, bool) { return row.answer, true })
			response, err := api.client(t, server.URL).Generate(t.Context(), aLongArticle())
			got, calls := failedAs(t, err), server.Calls()
			if diff := cmp.Diff(classes[row.class], class{got.Category, got.Type, got.Quota, len(calls)}); diff != "" {
				t.Errorf("outcome of %q (-want +got):\n%s", got, diff)
			}
			if got.RetryAfter != row.wait {
				t.Errorf("wait is %s, want %s", got.RetryAfter, row.wait)
			}
			if response.Summary != "" {
				t.Errorf("response is %+v", response)
			}
			for _, call := range calls {
				if call.KeyElsewhere || call.KeyRefused || strings.Contains(string(call.Body), secretKey) { // R5.6
					t.Error("the key is not where it belongs")
				}
			}
		})
	}
	for name := range classes {
		for api := range sides {
			if !seen[name+" of "+api] {
				t.Errorf("there is no %s of %s", name, api)
			}
		}
	}
}
