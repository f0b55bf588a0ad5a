// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/anthropic"
)

// newAnthropic makes the client of an AIProvider with anthropic.
func (w *world) newAnthropic(described *v1alpha1.AnthropicProvider, credentials string) (provider.Provider, error) {
	return anthropic.New(anthropic.Config{
		Model: described.Model, Endpoint: described.Endpoint, APIKey: credentials,
		Transport: w.out.Transport(outbound.TransportOptions{}), Now: w.clock.Now,
	})
}

// anthropic starts an Anthropic server, and makes an AIProvider of it with its Secret, of the same name.
func (w *world) anthropic(name string, change ...func(*v1alpha1.AIProvider)) *anthropictest.Server {
	w.t.Helper()
	server := anthropictest.New(apiKey)
	w.t.Cleanup(server.Close)
	w.secret(name, "apiKey", apiKey)
	w.provider(name, func(described *v1alpha1.AIProvider) {
		described.Spec.Extractive = nil
		described.Spec.Anthropic = &v1alpha1.AnthropicProvider{
			Model: "claude-haiku-4-5", Endpoint: server.URL, SecretRef: v1alpha1.SecretReference{Name: name},
		}
		for _, c := range change {
			c(described)
		}
	})
	return server
}

// R2.4, R2.6, R3.9: one call judges and summarizes, and is counted with its tokens.
func TestAnthropicScreensAndSummarizesInOneCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.anthropic("anthropic")
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("anthropic"), screenedBy("News about committees"), func(source *v1alpha1.FeedSource) {
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
	if s := item.Status.Screening; !s.Passed() || s.Provider != "anthropic" || item.Status.ArticleHash == "" {
		t.Errorf("screening %+v, hash %q", s, item.Status.ArticleHash)
	}
	if s := item.Status.Summary; s.Provider != "anthropic" || s.Model != "claude-haiku-4-5" || s.Tokens == 0 {
		t.Errorf("summary %+v", s)
	}
	w.untilProvider("anthropic", func(p *v1alpha1.AIProvider) error {
		if p.Status.Calls != 1 || p.Status.Tokens != item.Status.Summary.Tokens || p.Status.LastSuccessTime == nil {
			return fmt.Errorf("status %+v", p.Status)
		}
		return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	})
}

// R3.8: key and model are checked before an article is sent, and what is wrong with them is named.
func TestAnthropicIsReadyOnlyWithAKeyAndAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.anthropic("anthropic")
	isReady := func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	}
	described := w.untilProvider("anthropic", isReady)
	server.NextModel(anthropictest.ModelGone())
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"anthropic":{"model":"claude-2.1"}}}`))
	if err := w.client.Patch(t.Context(), described, patch); err != nil {
		t.Fatal(err)
	}
	described = w.untilProvider("anthropic", func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonConfigurationRefused)
	})
	if message := readyOf(described.Status.Conditions); !strings.Contains(message, "claude-2.1") {
		t.Errorf("message %q", message)
	}
	patch = client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"anthropic":{"model":"claude-haiku-4-5"}}}`))
	if err := w.client.Patch(t.Context(), described, patch); err != nil {
		t.Fatal(err)
	}
	w.untilProvider("anthropic", isReady)

	server.SetKey(otherKey) // the key is revoked while it is in use
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), summarizedBy("anthropic"))
	w.untilProvider("anthropic", func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonCredentialsRefused)
	})
	w.secret("anthropic", "apiKey", otherKey)
	w.clock.Step(30 * time.Second)
	w.untilProvider("anthropic", isReady)
	w.untilItems("news", allProcessed(2))
	if len(server.Calls()) > 2+v1alpha1.DefaultProviderConcurrency {
		t.Errorf("%d calls for 2 items", len(server.Calls()))
	}
}

func readyOf(conditions []metav1.Condition) string {
	for _, condition := range conditions {
		if condition.Type == v1alpha1.ConditionReady {
			return condition.Message
		}
	}
	return ""
}

// R3.1, R3.2, R3.4, R3.9, R5.6: what Anthropic answers ends in its category, count and time, on the item
// and on the provider; and the key, which the answer quotes, nowhere.
func TestEachAnswerOfAnthropicEndsWhereItShould(t *testing.T) {
	t.Parallel()
	deferred, dead := v1alpha1.PhaseDeferred, v1alpha1.PhaseFailed
	quoting := anthropictest.Error(http.StatusBadRequest, "invalid_request_error", "The header x-api-key: "+apiKey+" is odd, "+apiKey)
	for name, test := range map[string]struct {
		answer       anthropictest.Answer
		wantPhase    v1alpha1.Phase
		wantReason   v1alpha1.Reason
		wantCategory v1alpha1.Category
		wantType     string
		// wantState of the provider, and how long it lasts.
		wantState v1alpha1.AvailabilityState
		wantPause time.Duration
	}{
		"429 with a time":             {anthropictest.Throttled(37 * time.Second), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeThrottled, "CoolingDown", 37 * time.Second},
		"429 of a spend limit":        {anthropictest.SpendLimit(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, "QuotaSpent", time.Hour},
		"400 of a credit":             {anthropictest.NoCredit(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, "QuotaSpent", time.Hour},
		"529":                         {anthropictest.Overloaded(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeOverloaded, "Ready", 0},
		"a refusal":                   {anthropictest.Refusal("cyber"), dead, v1alpha1.ReasonInvalidContent, v1alpha1.CategoryValidation, failure.TypeBlocked, "Ready", 0},
		"400 with the key in it":      {quoting, dead, v1alpha1.ReasonInvalidConfiguration, v1alpha1.CategoryValidation, "InvalidRequest", "Ready", 0},
		"a firewall between the two":  {anthropictest.HTML(http.StatusForbidden), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeHTTPStatus, "Ready", 0},
		"a success that says nothing": {anthropictest.Empty(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeEmpty, "Ready", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.anthropic("anthropic").Next(test.answer)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), summarizedBy("anthropic"))
			item := w.untilItem("news", inPhase(test.wantPhase, test.wantReason))
			failed := item.Status.Failure
			if failed.Category != test.wantCategory || failed.Type != test.wantType || failed.Object != "anthropic" || item.Status.RetryCount != 0 {
				t.Errorf("failure %+v, retry %d", failed, item.Status.RetryCount)
			}
			described := w.untilProvider("anthropic", func(p *v1alpha1.AIProvider) error {
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
			for _, object := range []any{item, described} {
				if text, err := json.Marshal(object); err != nil || strings.Contains(string(text), "RECOGNISABLE") {
					t.Errorf("the key is in %s (%v)", text, err)
				}
			}
		})
	}
}
