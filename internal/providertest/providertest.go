// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providertest is what each provider that asks the API of a language model must hold, as tests:
// written once, and run by each provider with its server and its answers.
//
// It knows what is asked of every provider. It must never know one of them, nor its wire format.
package providertest

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// Key is recognised wherever it turns up. It has no shape that is masked anyway.
const Key = "recognisable+KEY/0123456789abcdef"

// Now is what the clock of the providers shows.
var Now = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// Dates in a header, by that clock.
const (
	InAMinute    = "Wed, 01 Apr 2026 09:01:00 GMT"
	InTwoMinutes = "Wed, 01 Apr 2026 09:02:00 GMT"
)

// Client is what the providers that ask an API have in common.
type Client interface {
	provider.Provider
	Check(ctx context.Context) error
	Close() error
}

// Subject is a provider, the server that stands in for its API, and how that API says what they all say.
type Subject[P Client] struct {
	// Model that is asked.
	Model string
	// Start starts a server that takes this key.
	Start func(key string) *aitest.Server
	// New makes a provider.
	New func(cfg modelapi.Config) (P, error)

	Summary func(text string) aitest.Answer
	// Counted is a good answer of which the API counts so many tokens, as JSON.
	Counted func(text, tokens string) aitest.Answer
	Text    func(text string) aitest.Answer
	Verdict func(valuable, complete bool, explanation, summary string) aitest.Answer
	// CutOff broke off after this, for want of room.
	CutOff     func(partial string) aitest.Answer
	Error      func(status int, message string) aitest.Answer
	Overloaded aitest.Answer
	TooLong    aitest.Answer
	// NoRoom refuses a second try, with more room.
	NoRoom aitest.Answer
	// NoDocuments refuses a document.
	NoDocuments aitest.Answer
	// WithDocuments makes the provider send documents; nil where it always does.
	WithDocuments func(cfg modelapi.Config) modelapi.Config
	// Says is how the API says that something is wrong, by the classes of meanings.
	Says map[string][]Saying

	// Names that a model may have in a configuration, and the Prefix of them that the API is not told.
	Names  []string
	Prefix string
	// Paths that an endpoint may have.
	Paths []string
}

// Serve starts a server that stops with the test.
func (s Subject[P]) Serve(t *testing.T) *aitest.Server {
	t.Helper()
	server := s.Start(Key)
	server.KeepTime(func() time.Time { return Now })
	t.Cleanup(server.Close)
	return server
}

// Config is that of a provider which asks this endpoint, with a key from a file.
func (s Subject[P]) Config(endpoint string) modelapi.Config {
	return modelapi.Config{
		Model: s.Model, Endpoint: endpoint, APIKey: Key + "\n", Transport: WayOut(), Now: func() time.Time { return Now },
	}
}

// Client makes a provider that asks this endpoint.
func (s Subject[P]) Client(t *testing.T, endpoint string) P {
	t.Helper()
	return s.made(t, s.Config(endpoint))
}

func (s Subject[P]) made(t *testing.T, cfg modelapi.Config) P {
	t.Helper()
	p, err := s.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// WayOut leads to servers on this machine.
func WayOut() http.RoundTripper {
	return outbound.New(outbound.Config{
		UserAgent: "feed-operator/test", AllowHTTP: true, AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}).Transport(outbound.TransportOptions{FreshConnections: true})
}

// Article is to be summarized.
func Article() provider.Request {
	return provider.Request{
		Title: "Council agrees on a new plan", URL: "https://example.org/news/1", MaxCharacters: 400,
		Text: "The council met on Tuesday and agreed on a new plan for the coming year.\n\nWork on the first goal begins in May.",
	}
}

// LongArticle is one that can be shortened.
func LongArticle() provider.Request {
	request := Article()
	request.Text = strings.Repeat("The council agreed on a plan for the year. ", 1000)
	return request
}

// Screened is an Article that is to be judged, too.
func Screened() provider.Request {
	request := Article()
	request.Screening = &provider.Screening{Criteria: "New rules that concern citizens."}
	return request
}

// Failed returns the failure, and checks what holds for each: R5.6.
func Failed(t *testing.T, err error) *failure.Error {
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
		if strings.Contains(text, Key[:8]) || text == "" {
			t.Errorf("a text is empty, or holds the key or the beginning of it: %q", text)
		}
	}
	return known
}
