// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// clock is what the clock of the providers shows.
var clock = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// secret is recognised wherever it turns up.
const secret = "not-shaped-like-a-key-Recognisable_0123456789"

const model = "claude-haiku-4-5"

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
func serve(t *testing.T) *anthropictest.Server {
	t.Helper()
	server := anthropictest.New(secret)
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

func TestGenerateSendsWhatTheAPIExpects(t *testing.T) {
	t.Parallel()
	server := serve(t)
	if _, err := newProvider(t, server.URL).Generate(t.Context(), screened()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	call := server.Calls()[0]
	if version := call.Header.Get("Anthropic-Version"); version != "2023-06-01" || call.Header.Get("X-Api-Key") != secret {
		t.Errorf("headers are %v", call.Header)
	}
	var body map[string]any
	if err := json.Unmarshal(call.Body, &body); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	want := object{
		"model": model, "max_tokens": float64(modelapi.OutputTokens),
		"system":   []any{object{"type": "text", "text": call.System}},
		"messages": []any{object{"role": "user", "content": []any{object{"type": "text", "text": call.User}}}},
		"output_config": object{"format": object{"type": "json_schema", "schema": object{
			"type": "object", "additionalProperties": false, "required": []any{"screening", "summary"},
			"properties": object{
				"screening": object{
					"type": "object", "additionalProperties": false, "required": []any{"complete", "explanation", "valuable"},
					"description": "The judgement of the article.",
					"properties": object{
						"complete":    object{"type": "boolean", "description": "Whether the article itself is there."},
						"explanation": object{"type": "string", "description": "Why, in one sentence."},
						"valuable":    object{"type": "boolean", "description": "Whether the article meets the criteria."},
					},
				},
				"summary": object{"type": "string", "description": "The summary. Empty if the article is not complete or not valuable."},
			},
		}}},
	}
	// Nothing more: some models refuse a temperature, an effort or a mode of thinking.
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if call.System == "" || strings.Contains(call.System, "council") {
		t.Errorf("the system part is %q", call.System)
	}
}

func TestGenerateLeavesOutThoughts(t *testing.T) {
	t.Parallel()
	server := serve(t)
	server.Next(anthropictest.Body(http.StatusOK, "text/plain", `{"type":"message","model":"claude-haiku-4-5-20251001","content":[
		{"type":"thinking","thinking":"Let me think.","signature":"eA=="},{"type":"redacted_thinking","data":"eA=="},
		{"type":"text","text":"{\"summary\":"},{"type":"text","text":"\"One.\"}","citations":null},{"type":"block_to_come","text":"!"}],
		"stop_reason":"end_turn","field_to_come":1,
		"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":8}}`))
	got, err := newProvider(t, server.URL).Generate(t.Context(), article())
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if diff := cmp.Diff(provider.Response{Summary: "One.", Model: "claude-haiku-4-5-20251001", Tokens: 15}, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestNamesAndEndpoints(t *testing.T) {
	t.Parallel()
	server := serve(t)
	for _, name := range []string{model, "anthropic/" + model + "@20251001"} {
		for _, path := range []string{"", "/", "/gateway/claude", "/gateway/claude/"} {
			p, err := New(Config{Model: name, Endpoint: server.URL + path, APIKey: secret, Transport: wayOut()})
			if err != nil {
				t.Fatalf("New: %v", err)
			}
			if _, err := p.Generate(t.Context(), article()); err != nil {
				t.Errorf("%s at %q: %v", name, path, err)
			}
			if err := p.Check(t.Context()); err != nil {
				t.Errorf("%s at %q: %v", name, path, err)
			}
		}
	}
	for _, call := range server.Calls() {
		if !strings.Contains(call.Model, model) {
			t.Errorf("asked for %q", call.Model)
		}
	}
}
