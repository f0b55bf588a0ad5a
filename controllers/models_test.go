// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
)

// service is an API of language models: the server that stands in for it, and the AIProvider that asks it.
type service struct {
	model string
	// key that the server takes, and the one that replaces it.
	key, otherKey string
	start         func(key string) *aitest.Server
	describe      func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference)
}

var (
	ofGemini = service{"gemini-2.5-flash", apiKey, otherKey, geminitest.New,
		func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference) {
			spec.Gemini = &v1alpha1.GeminiProvider{Model: model, Endpoint: endpoint, SecretRef: secret}
		}}
	ofOpenAI = service{"gpt-5-mini", openAIKey, otherOpenAIKey, openaitest.New,
		func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference) {
			spec.OpenAI = &v1alpha1.OpenAIProvider{Model: model, Endpoint: endpoint, SecretRef: &secret}
		}}
	ofAnthropic = service{"claude-haiku-4-5", apiKey, otherKey, anthropictest.New,
		func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference) {
			spec.Anthropic = &v1alpha1.AnthropicProvider{Model: model, Endpoint: endpoint, SecretRef: secret}
		}}
)

// asks describes an AIProvider that asks the service at an endpoint, with the key in a Secret.
func (s service) asks(endpoint, secret string, change ...func(*v1alpha1.AIProvider)) func(*v1alpha1.AIProvider) {
	return func(described *v1alpha1.AIProvider) {
		described.Spec.Extractive = nil
		s.describe(&described.Spec, s.model, endpoint, v1alpha1.SecretReference{Name: secret})
		for _, c := range change {
			c(described)
		}
	}
}

// service starts a server, and makes an AIProvider of it with its Secret, of the same name.
func (w *world) service(s service, name string, change ...func(*v1alpha1.AIProvider)) *aitest.Server {
	w.t.Helper()
	server := s.start(s.key)
	server.KeepTime(w.clock.Now)
	w.t.Cleanup(server.Close)
	w.secret(name, "apiKey", s.key)
	w.provider(name, s.asks(server.URL, name, change...))
	return server
}

// gemini starts a Gemini server, and makes an AIProvider of it with its Secret, of the same name.
func (w *world) gemini(name string, change ...func(*v1alpha1.AIProvider)) *geminitest.Server {
	w.t.Helper()
	return w.service(ofGemini, name, change...)
}

// oneCall checks that one call judges and summarizes, and is counted with its tokens.
func (s service) oneCall(t *testing.T) {
	t.Helper()
	t.Parallel()
	w := newWorld(t)
	server := w.service(s, "writer")
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"), screenedBy("News about committees"), func(source *v1alpha1.FeedSource) {
		source.Spec.Summary = &v1alpha1.SummaryPolicy{Language: "ja", Instructions: "For citizens."}
	})
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	calls := server.Calls()
	if len(calls) != 1 || !calls[0].Screening || calls[0].KeyElsewhere {
		t.Fatalf("%d calls: %+v", len(calls), calls)
	}
	for _, want := range []string{"News about committees", "For citizens.", "Japanese", "The committee for news-1 met on Tuesday"} {
		if !strings.Contains(string(calls[0].Body), want) {
			t.Errorf("the prompt does not hold %q:\n%s", want, calls[0].Body)
		}
	}
	if s := item.Status.Screening; !s.Passed() || s.Provider != "writer" || item.Status.ArticleHash == "" {
		t.Errorf("screening %+v, hash %q", s, item.Status.ArticleHash)
	}
	if got := item.Status.Summary; got.Provider != "writer" || got.Model != s.model || got.Tokens == 0 {
		t.Errorf("summary %+v", got)
	}
	w.untilProvider("writer", func(p *v1alpha1.AIProvider) error {
		if p.Status.Calls != 1 || p.Status.Tokens != item.Status.Summary.Tokens || p.Status.LastSuccessTime == nil {
			return fmt.Errorf("status %+v", p.Status)
		}
		return isReady(p)
	})
}

// answered is an answer of a service, and where it ends.
type answered struct {
	answer       aitest.Answer
	wantPhase    v1alpha1.Phase
	wantReason   v1alpha1.Reason
	wantCategory v1alpha1.Category
	wantType     string
	// wantState of the provider, and how long it lasts.
	wantState v1alpha1.AvailabilityState
	wantPause time.Duration
}

// endsAsItShould checks where answers end: in their category, count and time, on the item and on the
// provider; and the key, which an answer may quote, nowhere.
func (s service) endsAsItShould(t *testing.T, tests map[string]answered, change ...func(*v1alpha1.AIProvider)) {
	t.Helper()
	t.Parallel()
	const first = 5 * time.Minute
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.service(s, "writer", change...).Next(test.answer)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), summarizedBy("writer"))
			item := w.untilItem("news", inPhase(test.wantPhase, test.wantReason))
			failed := item.Status.Failure
			if failed.Category != test.wantCategory || failed.Type != test.wantType || failed.Object != "writer" {
				t.Errorf("failure %+v", failed)
			}
			if item.Status.RetryCount != 0 {
				t.Errorf("retry count %d after the first failure", item.Status.RetryCount)
			}
			if next := item.Status.NextRetryTime; test.wantPhase == v1alpha1.PhaseDeferred {
				if wait := next.Sub(w.clock.Now()); wait < first || wait > first*12/10+time.Second {
					t.Errorf("tried again after %s", wait)
				}
			} else if next != nil {
				t.Errorf("tried again at %s", next)
			}
			described := w.untilProvider("writer", func(p *v1alpha1.AIProvider) error {
				if len(p.Status.Failures) != 1 || p.Status.Failures[0].Category != test.wantCategory || p.Status.Failures[0].Count != 1 {
					return fmt.Errorf("failures %+v", p.Status.Failures)
				}
				return nil
			})
			stands := described.Status.Availability
			if stands.State != test.wantState {
				t.Errorf("availability %+v, want %s", stands, test.wantState)
			}
			if test.wantPause > 0 && !stands.Until.Time.Equal(w.clock.Now().Add(test.wantPause)) {
				t.Errorf("until %s, want %s from %s", stands.Until, test.wantPause, w.clock.Now())
			}
			if spent := isNotReady(v1alpha1.ReasonQuotaSpent)(described) == nil; spent != (test.wantState == "QuotaSpent") {
				t.Errorf("conditions %+v", described.Status.Conditions)
			}
			for _, object := range []any{item, described} {
				if text, err := json.Marshal(object); err != nil || strings.Contains(string(text), "RECOGNISABLE") {
					t.Errorf("the key is in %s (%v)", text, err)
				}
			}
		})
	}
}

// revives checks that a key which is refused stops the calls for n items, and that they revive when it is
// replaced.
func (s service) revives(t *testing.T, n int) {
	t.Helper()
	t.Parallel()
	w := newWorld(t)
	server := w.service(s, "writer")
	w.untilProvider("writer", isReady)
	server.SetKey(s.otherKey) // the key is revoked while it is in use
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"))
	w.untilItems("news", eachOf(n, refusedItem))
	refused := w.untilProvider("writer", isNotReady(v1alpha1.ReasonCredentialsRefused))
	if refused.Status.RefusedCredentials == "" || refused.Status.Availability.State != "Down" {
		t.Errorf("status %+v", refused.Status)
	}
	if calls := len(server.Calls()); calls > v1alpha1.DefaultProviderConcurrency {
		t.Errorf("%d calls with a key that was refused", calls)
	}
	for _, object := range w.everything() {
		if text, err := json.Marshal(object.Object); err != nil || strings.Contains(string(text), "RECOGN") {
			t.Errorf("the key is in %s (%v)", text, err)
		}
	}
	w.secret("writer", "apiKey", s.otherKey)
	w.clock.Step(30 * time.Second)
	w.untilProvider("writer", isReady)
	w.untilItems("news", allProcessed(n))
}
