// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// clock is what the clock of the providers shows.
var clock = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// secret is recognised wherever it turns up.
const secret = "AIzaSyRecognisable-Key_0123456789abcdef"

const model = "gemini-2.5-flash"

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
func serve(t *testing.T) *geminitest.Server {
	t.Helper()
	server := geminitest.New(secret)
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
	var body struct {
		GenerationConfig struct {
			Temperature      float64
			ResponseMimeType string
			ResponseSchema   struct {
				Type       int
				Required   []string
				Properties map[string]struct {
					Type       int
					Properties map[string]struct{ Type int }
				}
			}
		}
		SafetySettings []struct{ Category, Threshold int }
	}
	if err := json.Unmarshal(server.Calls()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	config := body.GenerationConfig
	if config.Temperature <= 0 || config.Temperature > 0.3 || config.ResponseMimeType != "application/json" {
		t.Errorf("generationConfig is %+v", config)
	}
	const typeString, typeBoolean, typeObject, blockOnlyHigh = 1, 4, 6, 3
	judgement := config.ResponseSchema.Properties["screening"]
	got := []int{config.ResponseSchema.Type, judgement.Type, judgement.Properties["valuable"].Type, judgement.Properties["complete"].Type,
		judgement.Properties["explanation"].Type, config.ResponseSchema.Properties["summary"].Type}
	if diff := cmp.Diff([]int{typeObject, typeObject, typeBoolean, typeBoolean, typeString, typeString}, got); diff != "" {
		t.Errorf("types in the schema (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"screening", "summary"}, config.ResponseSchema.Required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if len(body.SafetySettings) != 4 {
		t.Errorf("safetySettings are %+v", body.SafetySettings)
	}
	for _, setting := range body.SafetySettings {
		if setting.Threshold != blockOnlyHigh {
			t.Errorf("threshold of category %d is %d", setting.Category, setting.Threshold)
		}
	}
}

func TestGenerateLeavesOutThoughts(t *testing.T) {
	t.Parallel()
	server := serve(t)
	server.Next(geminitest.Body(http.StatusOK, "application/json", `{"candidates":[{"content":{"role":"model","parts":[
		{"text":"Let me think.","thought":true}, {"thoughtSignature":"eA=="}, {"inlineData":{"mimeType":"x/y","data":""}},
		{"text":"{\"summary\":"}, {"text":"\"One.\"}","thoughtSignature":"eA=="}, {"newKindOfPart":{}}]},"finishReason":"STOP","newField":1}],
		"usageMetadata":{"totalTokenCount":42},"modelVersion":"gemini-2.5-flash-002"}`))
	got, err := newProvider(t, server.URL).Generate(t.Context(), article())
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if diff := cmp.Diff(provider.Response{Summary: "One.", Model: "gemini-2.5-flash-002", Tokens: 42}, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestNamesAndEndpoints(t *testing.T) {
	t.Parallel()
	server := serve(t)
	for _, name := range []string{model, "models/" + model} {
		for _, path := range []string{"", "/", "/gateway/google", "/gateway/google/"} {
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
		if call.Model != model {
			t.Errorf("asked for %q", call.Model)
		}
	}
}
