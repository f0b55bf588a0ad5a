// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

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

func (s Subject[P]) asksOnce(t *testing.T) { // R2.4, R2.6
	server := s.Serve(t)
	server.Next(s.Verdict(true, true, "It is a new rule.", "The council agreed on a plan."))
	response, err := s.Client(t, server.URL).Generate(t.Context(), Screened())
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if response.Tokens <= 0 {
		t.Error("no tokens were counted")
	}
	response.Tokens = 0
	want := provider.Response{
		Summary: "The council agreed on a plan.", Model: s.Model,
		Verdict: &provider.Verdict{Valuable: true, Complete: true, Explanation: "It is a new rule."},
	}
	if diff := cmp.Diff(want, response); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	calls := server.Calls()
	if len(calls) != 1 {
		t.Fatalf("%d calls, want 1", len(calls))
	}
	if call := calls[0]; call.Model != s.Model || !call.Screening || call.Article() != Article().Text ||
		call.Room != modelapi.OutputTokens || call.KeyElsewhere || strings.Contains(string(call.Body), Key) { // R5.6
		t.Errorf("call is %+v", call)
	}
}

func (s Subject[P]) returnsAVerdictAgainst(t *testing.T) { // R2.4
	for name, verdict := range map[string]provider.Verdict{
		"not valuable": {Complete: true, Explanation: "A ceremony."},
		"not complete": {Valuable: true, Explanation: "A placeholder."},
	} {
		server := s.Serve(t)
		server.Next(s.Verdict(verdict.Valuable, verdict.Complete, verdict.Explanation, ""))
		response, err := s.Client(t, server.URL).Generate(t.Context(), Screened())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(&verdict, response.Verdict); diff != "" || response.Summary != "" {
			t.Errorf("%s: summary %q, verdict (-want +got):\n%s", name, response.Summary, diff)
		}
	}
}

func (s Subject[P]) returnsTheVerdictAlone(t *testing.T) { // R2.4
	server := s.Serve(t)
	server.Next(s.Verdict(true, true, "Fine.", ""), s.Text(`{"summary":"No judgement."}`))
	p := s.Client(t, server.URL)
	response, err := p.Generate(t.Context(), Screened())
	if got := Failed(t, err); got.Type != failure.TypeEmpty || response.Verdict == nil || response.Tokens == 0 {
		t.Errorf("response is %+v with %v", response, err)
	}
	response, err = p.Generate(t.Context(), Screened())
	if got := Failed(t, err); got.Type != failure.TypeMalformed || response.Verdict != nil || response.Tokens == 0 {
		t.Errorf("response is %+v with %v", response, err)
	}
}

// A count is what the other side says: nonsense of it neither costs the answer, nor passes on. R1.6, R3.9
func (s Subject[P]) countsWithinBounds(t *testing.T) {
	for claimed, want := range map[string]int64{
		"9223372036854775807": provider.MaxTokens, "9007199254740993": provider.MaxTokens,
		"-9223372036854775808": 0, "-1": 0, "null": 0, "1e3": -1, "17": -1,
		"99999999999999999999999": provider.MaxTokens, "1e400": provider.MaxTokens, `"many"`: 0,
	} {
		server := s.Serve(t)
		server.Next(s.Counted("One.", claimed))
		got, err := s.Client(t, server.URL).Generate(t.Context(), Article())
		if err != nil || got.Summary != "One." {
			t.Errorf("with %s tokens: %+v, %v", claimed, got, err)
		}
		if want >= 0 && got.Tokens != want || want < 0 && (got.Tokens < 17 || got.Tokens > 5000) {
			t.Errorf("%s tokens are counted as %d", claimed, got.Tokens)
		}
	}
	// Nor does a sum of them: one that broke off, and what was asked once more.
	server := s.Serve(t)
	server.Next(s.TooLong, s.Counted("One.", "9223372036854775807"))
	if got, err := s.Client(t, server.URL).Generate(t.Context(), LongArticle()); err != nil || got.Tokens != provider.MaxTokens {
		t.Errorf("%d tokens, %v", got.Tokens, err)
	}
}

func (s Subject[P]) refusesRequests(t *testing.T) {
	server := s.Serve(t)
	p := s.Client(t, server.URL)
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
}

func (s Subject[P]) refusesConfigurations(t *testing.T) {
	for name, change := range map[string]func(*modelapi.Config){
		"a model that leaves the path":    func(c *modelapi.Config) { c.Model = "x/../../secrets" },
		"a model with a query":            func(c *modelapi.Config) { c.Model = "model?key=1" },
		"no model":                        func(c *modelapi.Config) { c.Model = "" },
		"an endpoint that is no URL":      func(c *modelapi.Config) { c.Endpoint = "api.example.org" },
		"an endpoint of another protocol": func(c *modelapi.Config) { c.Endpoint = "ftp://example.org" },
		"an endpoint with a password":     func(c *modelapi.Config) { c.Endpoint = "https://u:" + Key + "@example.org" },
		"an endpoint with a query":        func(c *modelapi.Config) { c.Endpoint = "https://example.org/?key=" + Key },
		"no key":                          func(c *modelapi.Config) { c.APIKey = " \n" },
		"a key that ends a header":        func(c *modelapi.Config) { c.APIKey = Key + "\r\nHost: example.org" },
		"a key elsewhere that does so":    func(c *modelapi.Config) { c.Endpoint, c.APIKey = "http://example.org/v1", "a\nb" },
		"no way out":                      func(c *modelapi.Config) { c.Transport = nil },
	} {
		cfg := s.Config("")
		change(&cfg)
		if _, err := s.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			_ = Failed(t, err)
		}
	}
	if _, err := s.New(s.Config("")); err != nil {
		t.Errorf("what is right: %v", err)
	}
}

func (s Subject[P]) endsWithTheContext(t *testing.T) {
	for name, ask := range map[string]func(context.Context, P) error{
		"Generate": func(ctx context.Context, p P) error { _, err := p.Generate(ctx, Article()); return err },
		"Check":    func(ctx context.Context, p P) error { return p.Check(ctx) },
	} {
		server := s.Serve(t)
		server.Next(aitest.Hang())
		server.NextModel(aitest.Hang())
		ctx, cancel := context.WithTimeout(t.Context(), 1e8)
		defer cancel()
		got := Failed(t, ask(ctx, s.Client(t, server.URL)))
		if got.Category != v1alpha1.CategoryNetwork || got.Type != failure.TypeTimeout || !strings.Contains(got.Message, "127.0.0.1") {
			t.Errorf("%s: failure is %s/%s: %v", name, got.Category, got.Type, got)
		}
	}
	server := s.Serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	server.OnCall(func(aitest.Call) (aitest.Answer, bool) {
		cancel()
		return aitest.Hang(), true
	})
	_, err := s.Client(t, server.URL).Generate(ctx, Article())
	_ = Failed(t, err)
	if !errors.Is(err, context.Canceled) || len(server.Calls()) != 1 {
		t.Errorf("interrupted: %d calls, then %v", len(server.Calls()), err)
	}
}

func (s Subject[P]) sharesNothing(t *testing.T) {
	const anotherKey = "another-key-0123"
	first, second := s.Serve(t), s.Serve(t)
	second.SetKey(anotherKey)
	cfg := s.Config(second.URL)
	cfg.Model, cfg.APIKey = "another-model", anotherKey
	q := s.made(t, cfg)
	done := make(chan error)
	for range 10 {
		for _, one := range []P{s.Client(t, first.URL), q} {
			go func() { _, err := one.Generate(t.Context(), Article()); done <- err }()
		}
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, server := range []*aitest.Server{first, second} {
		for _, call := range server.Calls() {
			if call.KeyRefused || (call.Model == s.Model) != (server == first) {
				t.Errorf("%s was asked for %s", server.URL, call.Model)
			}
		}
	}
}

func (s Subject[P]) tellsOfAWrongKey(t *testing.T) {
	server := s.Serve(t)
	server.SetKey("another-key-0123")
	p := s.Client(t, server.URL)
	_, err := p.Generate(t.Context(), Article())
	for _, got := range []*failure.Error{Failed(t, err), Failed(t, p.Check(t.Context()))} {
		if got.Category != v1alpha1.CategoryAuth || !strings.Contains(got.Message, "into the Secret") {
			t.Errorf("failure is %s: %v", got.Category, got)
		}
	}
}

// A gateway may quote the request that it refuses, and a long quotation is cut. R5.6
func (s Subject[P]) masksItsKey(t *testing.T) {
	for _, status := range []int{400, 401, 418, 429, 503} {
		for _, before := range []string{"Do not send ", strings.Repeat("x", 280) + " "} {
			server := s.Serve(t)
			answer := s.Error(status, before+Key+" to "+url.QueryEscape(Key)).WithHeader("Request-Id", Key)
			server.Next(answer)
			server.NextModel(answer)
			p := s.Client(t, server.URL)
			_, err := p.Generate(t.Context(), Article())
			failures := []*failure.Error{Failed(t, err)}
			if err := p.Check(t.Context()); err != nil { // some servers do not know the question, and say so with 400
				failures = append(failures, Failed(t, err))
			}
			for _, got := range failures {
				record, jsonErr := json.Marshal(failure.Record(got, v1alpha1.StageSummarize, "provider", Now))
				if jsonErr != nil || strings.Contains(string(record), Key[:8]) {
					t.Errorf("a part of the key is in %s", record)
				}
			}
		}
	}
}

// redirecting is a way out that does not look at redirects.
type redirecting struct{ http.RoundTripper }

// A key goes nowhere but to the endpoint, whatever way out there is. R1.7
func (s Subject[P]) followsNoRedirects(t *testing.T) {
	elsewhere := s.Serve(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", strings.TrimSuffix(elsewhere.URL, "/v1")+r.URL.Path)
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		for name, way := range map[string]http.RoundTripper{"guarded": WayOut(), "plain": redirecting{transport}} {
			cfg := s.Config(server.URL + "/v1")
			cfg.Transport = way
			p := s.made(t, cfg)
			_, err := p.Generate(t.Context(), Article())
			for _, got := range []*failure.Error{Failed(t, err), Failed(t, p.Check(t.Context()))} {
				if got.Type != failure.TypeRedirect {
					t.Errorf("%d, %s: failure is %s: %v", status, name, got.Type, got)
				}
			}
		}
	}
	if len(elsewhere.Calls())+elsewhere.Checks() != 0 {
		t.Error("a redirect was followed")
	}
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
func (s Subject[P]) keepsFailures(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		transport http.RoundTripper
		want      string
	}{
		"nobody listens":              {WayOut(), "Network/Connection"},
		"an address that is fenced":   {outbound.New(outbound.Config{AllowHTTP: true}).Transport(outbound.TransportOptions{}), "Validation/AddressRefused"},
		"plain http that is refused":  {outbound.New(outbound.Config{}).Transport(outbound.TransportOptions{}), "Validation/InvalidURL"},
		"another library's error":     {failing{io.ErrUnexpectedEOF}, "Network/Connection"},
		"an error that holds the key": {failing{errors.New("no way to " + closed.URL + "?key=" + Key)}, "API/Malformed"},
		"an answer without end":       {endless{}, "API/TooLarge"},
	} {
		cfg := s.Config(closed.URL)
		cfg.Transport = test.transport
		p := s.made(t, cfg)
		_, err := p.Generate(t.Context(), Article())
		for _, failed := range []*failure.Error{Failed(t, err), Failed(t, p.Check(t.Context()))} {
			if got := fmt.Sprintf("%s/%s", failed.Category, failed.Type); got != test.want {
				t.Errorf("%s: %s, want %s: %v", name, got, test.want, failed)
			}
		}
	}
}

// Gateways have a path of their own, and names may tell of a collection or a maker.
func (s Subject[P]) takesNamesAndEndpoints(t *testing.T) {
	server := s.Serve(t)
	root := strings.TrimSuffix(server.URL, "/v1")
	for _, name := range s.Names {
		for _, path := range s.Paths {
			cfg := s.Config(root + path)
			cfg.Model = name
			p := s.made(t, cfg)
			before, checks := len(server.Calls()), server.Checks()
			if _, err := p.Generate(t.Context(), Article()); err != nil || server.Calls()[before].Model != strings.TrimPrefix(name, s.Prefix) {
				t.Errorf("%s at %q: %v, %+v", name, path, err, server.Calls()[before:])
			}
			if err := p.Check(t.Context()); err != nil || server.Checks() != checks+1 {
				t.Errorf("%s at %q: %v, after %d questions", name, path, err, server.Checks()-checks)
			}
		}
	}
	if len(server.Calls()) < 4 {
		t.Errorf("%d calls are too few to tell", len(server.Calls()))
	}
}
