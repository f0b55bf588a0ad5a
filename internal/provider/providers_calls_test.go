// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

func TestProvidersAskOnceForVerdictAndSummary(t *testing.T) { // R2.4, R2.6
	onEachSide(t, func(t *testing.T, api side) {
		server := api.serve(t)
		server.Next(api.verdict(true, true, "It is a new rule.", "The council agreed on a plan."))
		response, err := api.client(t, server.URL).Generate(t.Context(), screenedArticle())
		if err != nil {
			t.Fatalf("Generate: %v", err)
		}
		if response.Tokens <= 0 {
			t.Error("no tokens were counted")
		}
		response.Tokens = 0
		want := provider.Response{
			Summary: "The council agreed on a plan.", Model: api.model,
			Verdict: &provider.Verdict{Valuable: true, Complete: true, Explanation: "It is a new rule."},
		}
		if diff := cmp.Diff(want, response); diff != "" {
			t.Errorf("response (-want +got):\n%s", diff)
		}
		calls := server.Calls()
		if len(calls) != 1 {
			t.Fatalf("%d calls, want 1", len(calls))
		}
		if call := calls[0]; call.Model != api.model || !call.Screening || call.Article() != anArticle().Text ||
			call.Room != modelapi.OutputTokens || call.KeyElsewhere || strings.Contains(string(call.Body), secretKey) { // R5.6
			t.Errorf("call is %+v", call)
		}
	})
}

func TestProvidersReturnAVerdictAgainstTheArticle(t *testing.T) { // R2.4
	onEachSide(t, func(t *testing.T, api side) {
		for name, verdict := range map[string]provider.Verdict{
			"not valuable": {Complete: true, Explanation: "A ceremony."},
			"not complete": {Valuable: true, Explanation: "A placeholder."},
		} {
			server := api.serve(t)
			server.Next(api.verdict(verdict.Valuable, verdict.Complete, verdict.Explanation, ""))
			response, err := api.client(t, server.URL).Generate(t.Context(), screenedArticle())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(&verdict, response.Verdict); diff != "" || response.Summary != "" {
				t.Errorf("%s: summary %q, verdict (-want +got):\n%s", name, response.Summary, diff)
			}
		}
	})
}

func TestProvidersReturnTheVerdictBesideAMissingSummary(t *testing.T) { // R2.4
	onEachSide(t, func(t *testing.T, api side) {
		server := api.serve(t)
		server.Next(api.verdict(true, true, "Fine.", ""), api.text(`{"summary":"No judgement."}`))
		p := api.client(t, server.URL)
		response, err := p.Generate(t.Context(), screenedArticle())
		if got := failedAs(t, err); got.Type != failure.TypeEmpty || response.Verdict == nil || response.Tokens == 0 {
			t.Errorf("response is %+v with %v", response, err)
		}
		response, err = p.Generate(t.Context(), screenedArticle())
		if got := failedAs(t, err); got.Type != failure.TypeMalformed || response.Verdict != nil || response.Tokens == 0 {
			t.Errorf("response is %+v with %v", response, err)
		}
	})
}

func TestProvidersRefuseWhatCannotBeAnswered(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		server := api.serve(t)
		p := api.client(t, server.URL)
		for name, request := range map[string]provider.Request{
			"no room":     {Text: "Text."},
			"no text":     {URL: "https://example.org", MaxCharacters: 400},
			"blank text":  {Text: " \u200b\n\u202e", MaxCharacters: 400},
			"minus sizes": {Text: "Text.", MaxCharacters: -1},
		} {
			if _, err := p.Generate(t.Context(), request); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if calls := server.Calls(); len(calls) != 0 {
			t.Errorf("%d calls were made", len(calls))
		}
	})
}

func TestProvidersRefuseAConfigurationThatIsWrong(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		for name, change := range map[string]func(*modelapi.Config){
			"a model that leaves the path":    func(c *modelapi.Config) { c.Model = "x/../../secrets" },
			"a model with a query":            func(c *modelapi.Config) { c.Model = "model?key=1" },
			"no model":                        func(c *modelapi.Config) { c.Model = "" },
			"an endpoint that is no URL":      func(c *modelapi.Config) { c.Endpoint = "api.example.org" },
			"an endpoint of another protocol": func(c *modelapi.Config) { c.Endpoint = "ftp://example.org" },
			"an endpoint with a password":     func(c *modelapi.Config) { c.Endpoint = "https://u:" + secretKey + "@example.org" },
			"an endpoint with a query":        func(c *modelapi.Config) { c.Endpoint = "https://example.org/?key=" + secretKey },
			"no key":                          func(c *modelapi.Config) { c.APIKey = " \n" },
			"a key that ends a header":        func(c *modelapi.Config) { c.APIKey = secretKey + "\r\nHost: example.org" },
			"a key elsewhere that does so":    func(c *modelapi.Config) { c.Endpoint, c.APIKey = "http://example.org/v1", "a\nb" },
			"no way out":                      func(c *modelapi.Config) { c.Transport = nil },
		} {
			cfg := api.config("")
			change(&cfg)
			if _, err := api.make(cfg); err == nil {
				t.Errorf("%s: no error", name)
			} else {
				_ = failedAs(t, err)
			}
		}
		if _, err := api.make(api.config("")); err != nil {
			t.Errorf("what is right: %v", err)
		}
	})
}

func TestCallsOfProvidersEndWithTheirContext(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		for name, ask := range map[string]func(context.Context, client) error{
			"Generate": func(ctx context.Context, p client) error { _, err := p.Generate(ctx, anArticle()); return err },
			"Check":    func(ctx context.Context, p client) error { return p.Check(ctx) },
		} {
			server := api.serve(t)
			server.Next(aitest.Hang())
			server.NextModel(aitest.Hang())
			ctx, cancel := context.WithTimeout(t.Context(), 1e8)
			defer cancel()
			got := failedAs(t, ask(ctx, api.client(t, server.URL)))
			if got.Category != v1alpha1.CategoryNetwork || got.Type != failure.TypeTimeout || !strings.Contains(got.Message, "127.0.0.1") {
				t.Errorf("%s: failure is %s/%s: %v", name, got.Category, got.Type, got)
			}
		}
		server := api.serve(t)
		ctx, cancel := context.WithCancel(t.Context())
		server.OnCall(func(aitest.Call) (aitest.Answer, bool) {
			cancel()
			return aitest.Hang(), true
		})
		_, err := api.client(t, server.URL).Generate(ctx, anArticle())
		_ = failedAs(t, err)
		if !errors.Is(err, context.Canceled) || len(server.Calls()) != 1 {
			t.Errorf("interrupted: %d calls, then %v", len(server.Calls()), err)
		}
	})
}

func TestProvidersShareNothing(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		const anotherKey = "another-key-0123"
		first, second := api.serve(t), api.serve(t)
		second.SetKey(anotherKey)
		cfg := api.config(second.URL)
		cfg.Model, cfg.APIKey = "another-model", anotherKey
		q, err := api.make(cfg)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		for range 10 {
			for _, one := range []client{api.client(t, first.URL), q} {
				go func() { _, err := one.Generate(t.Context(), anArticle()); done <- err }()
			}
		}
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		for _, server := range []*aitest.Server{first, second} {
			for _, call := range server.Calls() {
				if call.KeyRefused || (call.Model == api.model) != (server == first) {
					t.Errorf("%s was asked for %s", server.URL, call.Model)
				}
			}
		}
	})
}

func TestAWrongKeyIsTold(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		server := api.serve(t)
		server.SetKey("another-key-0123")
		p := api.client(t, server.URL)
		_, err := p.Generate(t.Context(), anArticle())
		for _, got := range []*failure.Error{failedAs(t, err), failedAs(t, p.Check(t.Context()))} {
			if got.Category != v1alpha1.CategoryAuth || !strings.Contains(got.Message, "into the Secret") {
				t.Errorf("failure is %s: %v", got.Category, got)
			}
		}
	})
}

// A gateway may quote the request that it refuses, and a long quotation is cut. R5.6
func TestAKeyThatIsSentBackIsMasked(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		for _, status := range []int{400, 401, 418, 429, 503} {
			for _, before := range []string{"Do not send ", strings.Repeat("x", 280) + " "} {
				server := api.serve(t)
				answer := api.error(status, before+secretKey+" to "+url.QueryEscape(secretKey)).WithHeader("Request-Id", secretKey)
				server.Next(answer)
				server.NextModel(answer)
				p := api.client(t, server.URL)
				_, err := p.Generate(t.Context(), anArticle())
				failures := []*failure.Error{failedAs(t, err)}
				if err := p.Check(t.Context()); err != nil { // some servers do not know the question, and say so with 400
					failures = append(failures, failedAs(t, err))
				}
				for _, got := range failures {
					record, jsonErr := json.Marshal(failure.Record(got, v1alpha1.StageSummarize, "provider", today))
					if jsonErr != nil || strings.Contains(string(record), secretKey[:8]) {
						t.Errorf("a part of the key is in %s", record)
					}
				}
			}
		}
	})
}

// redirecting is a way out that does not look at redirects.
type redirecting struct{ http.RoundTripper }

// A key goes nowhere but to the endpoint, whatever way out there is. R1.7
func TestProvidersFollowNoRedirects(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		elsewhere := api.serve(t)
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		for _, status := range []int{301, 302, 303, 307, 308} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, strings.TrimSuffix(elsewhere.URL, "/v1")+r.URL.Path, status)
			}))
			t.Cleanup(server.Close)
			for name, way := range map[string]http.RoundTripper{"guarded": wayOut(), "plain": redirecting{transport}} {
				cfg := api.config(server.URL + "/v1")
				cfg.Transport = way
				p, err := api.make(cfg)
				if err != nil {
					t.Fatal(err)
				}
				_, err = p.Generate(t.Context(), anArticle())
				for _, got := range []*failure.Error{failedAs(t, err), failedAs(t, p.Check(t.Context()))} {
					if got.Type != failure.TypeRedirect {
						t.Errorf("%d, %s: failure is %s: %v", status, name, got.Type, got)
					}
				}
			}
		}
		if len(elsewhere.Calls())+elsewhere.Checks() != 0 {
			t.Error("a redirect was followed")
		}
	})
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// endless is a way out that bounds nothing.
type endless struct{}

func (endless) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.NopCloser(io.MultiReader(strings.NewReader("{"), strings.NewReader(strings.Repeat(" ", 5<<20))))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body}, nil
}

// What the way out knows better stays as it is.
func TestFailuresOfTheWayOutAreKept(t *testing.T) {
	onEachSide(t, func(t *testing.T, api side) {
		closed := httptest.NewServer(http.NotFoundHandler())
		closed.Close()
		for name, test := range map[string]struct {
			transport http.RoundTripper
			want      string
		}{
			"nobody listens":              {wayOut(), "Network/Connection"},
			"an address that is fenced":   {outbound.New(outbound.Config{AllowHTTP: true}).Transport(outbound.TransportOptions{}), "Validation/AddressRefused"},
			"plain http that is refused":  {outbound.New(outbound.Config{}).Transport(outbound.TransportOptions{}), "Validation/InvalidURL"},
			"another library's error":     {failing{io.ErrUnexpectedEOF}, "Network/Connection"},
			"an error that holds the key": {failing{errors.New("no way to " + closed.URL + "?key=" + secretKey)}, "API/Malformed"},
			"an answer without end":       {endless{}, "API/TooLarge"},
		} {
			cfg := api.config(closed.URL)
			cfg.Transport = test.transport
			p, err := api.make(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Generate(t.Context(), anArticle())
			for _, failed := range []*failure.Error{failedAs(t, err), failedAs(t, p.Check(t.Context()))} {
				if got := fmt.Sprintf("%s/%s", failed.Category, failed.Type); got != test.want {
					t.Errorf("%s: %s, want %s: %v", name, got, test.want, failed)
				}
			}
		}
	})
}
