// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// clock is what the clock of the providers shows.
var clock = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// secret is recognised wherever it turns up. It has no shape that is masked anyway.
const secret = "recognisable+KEY/0123456789abcdef"

const model = "gpt-5-mini"

func article() provider.Request {
	return provider.Request{
		Title: "Council agrees on a new plan", URL: "https://example.org/news/1", MaxCharacters: 400,
		Text: "The council met on Tuesday and agreed on a new plan for the coming year.\n\nWork on the first goal begins in May.",
	}
}

func screened() provider.Request {
	request := article()
	request.Screening = &provider.Screening{Criteria: "New rules that concern citizens."}
	return request
}

// serve starts a server that stops with the test.
func serve(t *testing.T) *openaitest.Server {
	t.Helper()
	server := openaitest.New(secret)
	t.Cleanup(server.Close)
	return server
}

func wayOut() http.RoundTripper {
	client := outbound.New(outbound.Config{
		UserAgent: "feed-operator/test", AllowHTTP: true, AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	return client.Transport(outbound.TransportOptions{FreshConnections: true})
}

func newProvider(t *testing.T, endpoint string) *Provider {
	t.Helper()
	p, err := New(Config{Model: model, Endpoint: endpoint, APIKey: secret + "\n", Transport: wayOut(), Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// failed returns the failure, and checks what holds for each: R5.6.
func failed(t *testing.T, err error) *failure.Error {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	//nolint:errorlint // the contract is that the error itself is a *failure.Error
	known, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("error is a %T, want *failure.Error: %v", err, err)
	}
	for cause := error(known); cause != nil; cause = errors.Unwrap(cause) {
		if strings.Contains(cause.Error(), secret) {
			t.Errorf("the key is in %T: %v", cause, cause)
		}
	}
	if strings.Contains(known.Message, secret) || known.Message == "" {
		t.Errorf("the message is empty or holds the key: %q", known.Message)
	}
	return known
}

func TestGenerateReadsWhatServersAnswer(t *testing.T) {
	t.Parallel()
	const good = `{"summary":"One."}`
	wire := func(body string) openaitest.Answer { return openaitest.Body(200, "text/plain", body) }
	for name, test := range map[string]struct {
		answer     openaitest.Answer
		wantModel  string
		wantTokens int64
	}{
		"JSON in a code fence":              {openaitest.Text("```json\n" + good + "\n```"), model, 0},
		"thoughts before it":                {openaitest.Text("<think>\nLet me see: {\"summary\": …}\n</think>\n\n" + good), model, 0},
		"thoughts that began in the prompt": {openaitest.Text("Let me see.\n</think>\n" + good), model, 0},
		"thoughts and a code fence":         {openaitest.Text("<thinking>Hm.</thinking>```\n" + good + "\n```"), model, 0},
		"the least that is an answer":       {wire(`{"choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), model, 0},
		"a name and a count of its own": {
			wire(`{"model":"gpt-5-mini-2025-08-07","usage":{"total_tokens":42},"choices":[{"finish_reason":"stop","message":{"content":"{\"summary\":\"One.\"}"}}]}`),
			"gpt-5-mini-2025-08-07", 42,
		},
		"a count without a sum":            {wire(`{"usage":{"prompt_tokens":40,"completion_tokens":2},"choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), model, 42},
		"an end of another name":           {wire(`{"choices":[{"finish_reason":"eos_token","message":{"content":"{\"summary\":\"One.\"}"}}]}`), model, 0},
		"an error that is none":            {wire(`{"error":null,"choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), model, 0},
		"thoughts in a field of their own": {wire(`{"choices":[{"message":{"reasoning_content":"Hm.","content":"{\"summary\":\"One.\"}"}}]}`), model, 0},
		"parts": {wire(`{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},
			{"type":"text","text":"{\"summary\":"},{"type":"text","text":"\"One.\"}"}]}}]}`), model, 0},
		"a name that is none":          {wire(`{"model":"<b>","choices":[{"message":{"content":"{\"summary\":\"One.\"}"}}]}`), model, 0},
		"blanks after all that it has": {openaitest.Length(good + strings.Repeat("\n", 1000)), model, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t)
			server.Next(test.answer)
			got, err := newProvider(t, server.URL).Generate(t.Context(), article())
			if err != nil {
				t.Fatalf("Generate: %v", err)
			}
			if got.Summary != "One." || got.Model != test.wantModel || test.wantTokens != 0 && got.Tokens != test.wantTokens {
				t.Errorf("response is %+v", got)
			}
		})
	}
}

func TestNamesAndEndpoints(t *testing.T) {
	t.Parallel()
	server := serve(t)
	root := strings.TrimSuffix(server.URL, "/v1")
	for _, name := range []string{model, "llama3.2:3b", "Qwen/Qwen3-8B", "ft:gpt-4o-mini:press::1", "a@b"} {
		for _, path := range []string{"/v1", "/v1/", "/gateway/openai/v1"} {
			p, err := New(Config{Model: name, Endpoint: root + path, APIKey: secret, Transport: wayOut()})
			if err != nil {
				t.Fatalf("New: %v", err)
			}
			before := len(server.Calls())
			if _, err := p.Generate(t.Context(), article()); err != nil || server.Calls()[before].Model != name {
				t.Errorf("%s at %q: %v, %+v", name, path, err, server.Calls()[before:])
			}
			checks := server.Checks()
			if err := p.Check(t.Context()); err != nil || server.Checks() != checks+1 {
				t.Errorf("%s at %q: %v, after %d questions", name, path, err, server.Checks()-checks)
			}
		}
	}
}

// A server of one's own may need no key, and is then told none.
func TestNoKeyMeansNoAuthorization(t *testing.T) {
	t.Parallel()
	server := openaitest.New("")
	t.Cleanup(server.Close)
	p, err := New(Config{Model: model, Endpoint: server.URL, Transport: wayOut()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(t.Context(), article()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if err := p.Check(t.Context()); err != nil {
		t.Fatalf("Check: %v", err)
	}
	if header := server.Calls()[0].Header; header.Values("Authorization") != nil {
		t.Errorf("header is %v", header)
	}
	server.SetKey(secret)
	_, err = p.Generate(t.Context(), article())
	if got := failed(t, err); got.Category != auth || !strings.Contains(got.Message, "secretRef") {
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
	p, err := New(Config{Model: model, Endpoint: server.URL, Transport: wayOut()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(t.Context(), article()); err != nil {
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
	if _, err := New(Config{Model: model, Transport: wayOut()}); err == nil {
		t.Error("a key was found in the environment")
	}
}
