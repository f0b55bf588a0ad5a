// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

const invalid = "invalid_request_error"

// subject is OpenAI to those who test all providers.
var subject = providertest.Subject[*Provider]{
	Model: "gpt-5-mini", Start: openaitest.New, New: New,
	Summary: openaitest.Summary, Counted: openaitest.Counted, Text: openaitest.Text, Verdict: openaitest.Verdict, CutOff: openaitest.Length,
	Error: func(status int, message string) openaitest.Answer {
		return openaitest.Error(status, invalid, "odd", message)
	},
	Overloaded: openaitest.Overloaded(), TooLong: openaitest.TooLong(),
	NoRoom: openaitest.Error(400, invalid, "invalid_value",
		"max_tokens is too large: 32768. This model supports at most 16384 completion tokens."),
	NoDocuments: openaitest.Error(400, invalid, "", "This model does not support file content types."), WithDocuments: fromOpenAI,

	Names: []string{"gpt-5-mini", "llama3.2:3b", "Qwen/Qwen3-8B", "ft:gpt-4o-mini:press::1", "a@b"},
	Paths: []string{"/v1", "/v1/", "/gateway/openai/v1"},

	Says: map[string][]providertest.Saying{
		"throttle": {
			{"seconds", openaitest.Throttled(37 * time.Second), 37 * time.Second},
			{"milliseconds", openaitest.Throttled(0).WithHeader("Retry-After-Ms", "1500"), 1500 * time.Millisecond},
			{"a date", openaitest.Throttled(0).WithHeader("Retry-After", providertest.InTwoMinutes), 2 * time.Minute},
			{"a date, by a clock of its own", openaitest.Throttled(0).WithHeader("Retry-After", providertest.InTwoMinutes).WithHeader("Date", providertest.InAMinute), time.Minute},
			{"no time", openaitest.Throttled(0), 0},
		},
		"quota": {
			{"insufficient_quota", openaitest.QuotaSpent(), 0},
			{"credit_balance_exhausted", openaitest.Error(429, "billing_error", "credit_balance_exhausted", "No."), 0},
			{"a spend limit", openaitest.Error(429, "billing_error", "project_spend_limit_exceeded", "No."), 0},
			{"a short wait", openaitest.QuotaSpent().WithHeader("Retry-After", "20"), 0},
			{"the time", openaitest.QuotaSpent().WithHeader("Retry-After", "7200"), 2 * time.Hour},
		},
		"overload": {
			{"503", openaitest.Overloaded(), 0},
			{"503, and a time", openaitest.Overloaded().WithHeader("Retry-After", "5"), 5 * time.Second},
		},
		"auth": {
			{"401", openaitest.KeyInvalid(), 0},
			{"403", openaitest.Error(403, invalid, "unsupported_country_region_territory", "Not here."), 0},
		},
		"gone":     {{"404", openaitest.ModelGone(), 0}},
		"too long": {{"context_length_exceeded", openaitest.TooLong(), 0}},
		"blocked": {
			{"content_filter", openaitest.Stopped("content_filter"), 0},
			{"a refusal", openaitest.Refusal(), 0},
		},
		"malformed": {{"JSON that broke off", openaitest.BrokenJSON(), 0}},
	},
}

// R1.7, R2.4, R2.5, R2.6, R3.1, R3.3, R3.9, R5.6: what every provider must hold.
func TestOpenAI(t *testing.T) { subject.Run(t) }

func TestGenerateReadsWhatServersAnswer(t *testing.T) {
	t.Parallel()
	const good = `{"summary":"One."}`
	wire := func(body string) openaitest.Answer { return openaitest.Body(200, "text/plain", body) }
	subject.Reads(t, map[string]providertest.Reading{
		"JSON in a code fence":              {openaitest.Text("```json\n" + good + "\n```"), subject.Model, 0},
		"thoughts before it":                {openaitest.Text("<think>\nLet me see: {\"summary\": …}\n</think>\n\n" + good), subject.Model, 0},
		"thoughts that began in the prompt": {openaitest.Text("Let me see.\n</think>\n" + good), subject.Model, 0},
		"thoughts and a code fence":         {openaitest.Text("<thinking>Hm.</thinking>```\n" + good + "\n```"), subject.Model, 0},
		"the least that is an answer":       {wire(`{"choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), subject.Model, 0},
		"a name and a count of its own": {
			wire(`{"model":"gpt-5-mini-2025-08-07","usage":{"total_tokens":42},"choices":[{"finish_reason":"stop","message":{"content":"{\"summary\":\"One.\"}"}}]}`),
			"gpt-5-mini-2025-08-07", 42,
		},
		"a count without a sum":            {wire(`{"usage":{"prompt_tokens":40,"completion_tokens":2},"choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), subject.Model, 42},
		"an end of another name":           {wire(`{"choices":[{"finish_reason":"eos_token","message":{"content":"{\"summary\":\"One.\"}"}}]}`), subject.Model, 0},
		"an error that is none":            {wire(`{"error":null,"choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), subject.Model, 0},
		"thoughts in a field of their own": {wire(`{"choices":[{"message":{"reasoning_content":"Hm.","content":"{\"summary\":\"One.\"}"}}]}`), subject.Model, 0},
		"parts": {wire(`{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},
			{"type":"text","text":"{\"summary\":"},{"type":"text","text":"\"One.\"}"}]}}]}`), subject.Model, 0},
		"a name that is none":          {wire(`{"model":"<b>","choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), subject.Model, 0},
		"blanks after all that it has": {openaitest.Length(good + strings.Repeat("\n", 1000)), subject.Model, 0},
	})
}

// A server of one's own may need no key, and is then told none.
func TestNoKeyMeansNoAuthorization(t *testing.T) {
	t.Parallel()
	server := openaitest.New("")
	t.Cleanup(server.Close)
	p, err := New(Config{Model: subject.Model, Endpoint: server.URL, Transport: providertest.WayOut()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(t.Context(), providertest.Article()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if err := p.Check(t.Context()); err != nil {
		t.Fatalf("Check: %v", err)
	}
	if header := server.Calls()[0].Header; header.Values("Authorization") != nil {
		t.Errorf("header is %v", header)
	}
	server.SetKey(providertest.Key)
	_, err = p.Generate(t.Context(), providertest.Article())
	if got := providertest.Failed(t, err); got.Category != auth || !strings.Contains(got.Message, "secretRef") {
		t.Errorf("failure is %s: %v", got.Category, got)
	}
}

// What the SDK would read belongs to whoever started the operator, not to who describes a provider.
func TestTheEnvironmentHasNoEffect(t *testing.T) { // R5.6
	server := openaitest.New("")
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "environment-key", "OPENAI_BASE_URL": "http://environment.invalid/v1", "OPENAI_ORG_ID": "environment-org",
		"OPENAI_PROJECT_ID": "environment-project", "OPENAI_ADMIN_KEY": "environment-admin", "OPENAI_CUSTOM_HEADERS": "X-Custom: environment",
		"HTTP_PROXY": "http://environment.invalid", "http_proxy": "http://environment.invalid",
	} {
		t.Setenv(name, value)
	}
	p, err := New(Config{Model: subject.Model, Endpoint: server.URL, Transport: providertest.WayOut()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(t.Context(), providertest.Article()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	for name, values := range server.Calls()[0].Header {
		if strings.Contains(strings.Join(values, " "), "environment") {
			t.Errorf("%s is %v", name, values)
		}
		switch name {
		case "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "User-Agent":
		default:
			t.Errorf("a header that nobody needs: %s", name)
		}
	}
	if _, err := New(Config{Model: subject.Model, Transport: providertest.WayOut()}); err == nil {
		t.Error("a key was found in the environment")
	}
}
