// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/openai"
)

// The keys have no shape that would be masked anyway.
const (
	openAIKey      = "RECOGNISABLE/openai+0123456789"
	otherOpenAIKey = "RECOGNISABLE/another+0123456789"
)

// openAIOf makes the client of an AIProvider that speaks OpenAI's API.
func (w *world) openAIOf(spec *v1alpha1.OpenAIProvider, credentials string) (provider.Provider, error) {
	return openai.New(openai.Config{
		Model: spec.Model, Endpoint: spec.Endpoint, APIKey: credentials,
		Transport: w.out.Transport(outbound.TransportOptions{}), Now: w.clock.Now,
	})
}

// openAI starts a server with OpenAI's API, and makes an AIProvider of it with its Secret, of the same name.
func (w *world) openAI(name string, change ...func(*v1alpha1.AIProvider)) *openaitest.Server {
	w.t.Helper()
	server := openaitest.New(openAIKey)
	w.t.Cleanup(server.Close)
	w.secret(name, "apiKey", openAIKey)
	w.provider(name, func(described *v1alpha1.AIProvider) {
		described.Spec.Extractive = nil
		described.Spec.OpenAI = &v1alpha1.OpenAIProvider{
			Model: "gpt-5-mini", Endpoint: server.URL, SecretRef: &v1alpha1.SecretReference{Name: name},
		}
		for _, c := range change {
			c(described)
		}
	})
	return server
}

// R2.4, R2.6, R3.9: one call judges and summarizes, and is counted with its tokens.
func TestOpenAIScreensAndSummarizesInOneCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.openAI("openai")
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("openai"), screenedBy("News about committees"), func(source *v1alpha1.FeedSource) {
		source.Spec.Summary = &v1alpha1.SummaryPolicy{Language: "ja", Instructions: "For citizens."}
	})
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	calls := server.Calls()
	if len(calls) != 1 || !calls[0].Screening {
		t.Fatalf("%d calls: %+v", len(calls), calls)
	}
	for _, want := range []string{"News about committees", "For citizens.", "Japanese", "The committee for news-1 met on Tuesday"} {
		if !strings.Contains(string(calls[0].Body), want) {
			t.Errorf("the prompt does not hold %q:\n%s", want, calls[0].Body)
		}
	}
	if s := item.Status.Screening; !s.Passed() || s.Provider != "openai" || item.Status.ArticleHash == "" {
		t.Errorf("screening %+v, hash %q", s, item.Status.ArticleHash)
	}
	if s := item.Status.Summary; s.Provider != "openai" || s.Model != "gpt-5-mini" || s.Tokens == 0 {
		t.Errorf("summary %+v", s)
	}
	w.untilProvider("openai", func(p *v1alpha1.AIProvider) error {
		if p.Status.Calls != 1 || p.Status.Tokens != item.Status.Summary.Tokens || p.Status.LastSuccessTime == nil {
			return fmt.Errorf("status %+v", p.Status)
		}
		return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	})
}

// A server of one's own needs no Secret, and is sent no key.
func TestAServerOfOnesOwnNeedsNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := openaitest.New("")
	t.Cleanup(server.Close)
	// As vLLM, it knows no question about one model.
	server.NextModel(openaitest.Body(404, "application/json", `{"detail":"Not Found"}`), openaitest.Models("Qwen/Qwen3-8B"))
	w.provider("own", func(described *v1alpha1.AIProvider) {
		described.Spec.Extractive = nil
		described.Spec.OpenAI = &v1alpha1.OpenAIProvider{Model: "Qwen/Qwen3-8B", Endpoint: server.URL}
	})
	w.untilProvider("own", func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("own"))
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if item.Status.Summary.Model != "Qwen/Qwen3-8B" || server.Calls()[0].Header.Values("Authorization") != nil {
		t.Errorf("summary %+v, header %v", item.Status.Summary, server.Calls()[0].Header)
	}
}

// R3.1, R3.2, R3.4, R3.9: whatever OpenAI answers ends in its category and time, on the item and on
// the provider.
func TestEachAnswerOfOpenAIEndsWhereItShould(t *testing.T) {
	t.Parallel()
	deferred, dead := v1alpha1.PhaseDeferred, v1alpha1.PhaseFailed
	for name, test := range map[string]struct {
		answer       openaitest.Answer
		wantPhase    v1alpha1.Phase
		wantReason   v1alpha1.Reason
		wantCategory v1alpha1.Category
		wantType     string
		// wantState of the provider, and how long it lasts.
		wantState v1alpha1.AvailabilityState
		wantPause time.Duration
	}{
		"429, with a time":   {openaitest.Throttled(37 * time.Second), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeThrottled, "CoolingDown", 37 * time.Second},
		"429, without money": {openaitest.QuotaSpent(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, "QuotaSpent", time.Hour},
		"503":                {openaitest.Overloaded(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeOverloaded, "Ready", 0},
		"an empty object":    {openaitest.Empty(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeEmpty, "Ready", 0},
		"a refusal":          {openaitest.Refusal(), dead, v1alpha1.ReasonInvalidContent, v1alpha1.CategoryValidation, failure.TypeBlocked, "Ready", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.openAI("openai")
			server.Next(test.answer)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), summarizedBy("openai"))
			item := w.untilItem("news", inPhase(test.wantPhase, test.wantReason))
			if failed := item.Status.Failure; failed.Category != test.wantCategory || failed.Type != test.wantType || failed.Object != "openai" {
				t.Errorf("failure %+v", failed)
			}
			provider := w.untilProvider("openai", func(p *v1alpha1.AIProvider) error {
				if len(p.Status.Failures) != 1 || p.Status.Failures[0].Category != test.wantCategory {
					return fmt.Errorf("failures %+v", p.Status.Failures)
				}
				return nil
			})
			stands := provider.Status.Availability
			if stands.State != test.wantState {
				t.Errorf("availability %+v, want %s", stands, test.wantState)
			}
			if test.wantPause > 0 && !stands.Until.Time.Equal(w.clock.Now().Add(test.wantPause)) {
				t.Errorf("until %s, want %s from %s", stands.Until, test.wantPause, w.clock.Now())
			}
		})
	}
}

// R3.8, R5.6: a key that is refused stops the calls, and is in nothing that can be read; items
// revive when it is replaced.
func TestOpenAIItemsReviveWhenARefusedKeyIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.openAI("openai")
	ready := func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	}
	w.untilProvider("openai", ready)
	server.SetKey(otherOpenAIKey) // the key is revoked while it is in use
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), summarizedBy("openai"))
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		if len(items) != 3 {
			return fmt.Errorf("%d items", len(items))
		}
		for i := range items {
			if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed)(&items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	refused := w.untilProvider("openai", func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonCredentialsRefused)
	})
	if refused.Status.RefusedCredentials == "" || refused.Status.Availability.State != "Down" {
		t.Errorf("status %+v", refused.Status)
	}
	w.secret("openai", "apiKey", otherOpenAIKey)
	w.clock.Step(30 * time.Second)
	w.untilProvider("openai", ready)
	w.untilItems("news", allProcessed(3))
}

// R5.6: a server that sends the key back, in its words or in what the model writes, puts it nowhere.
func TestOpenAIKeyIsInNothingThatCanBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.openAI("openai")
	server.Next(
		openaitest.Error(418, "odd", openAIKey, "The key "+openAIKey+" is odd."),
		openaitest.Error(401, "odd", "invalid_api_key", strings.Repeat("x", 280)+openAIKey),
	)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), summarizedBy("openai"))
	w.untilProvider("openai", func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonCredentialsRefused)
	})
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if items[i].Status.Failure == nil {
				return fmt.Errorf("%s has not failed", items[i].Name)
			}
		}
		if len(items) != 2 {
			return fmt.Errorf("%d items", len(items))
		}
		return nil
	})
	for _, list := range []client.ObjectList{&v1alpha1.FeedItemList{}, &v1alpha1.AIProviderList{}, &v1alpha1.FeedSourceList{}} {
		if err := w.client.List(t.Context(), list, client.InNamespace(w.namespace)); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if at := strings.Index(string(text), "RECOGN"); at >= 0 {
			t.Errorf("%T holds a part of the key: …%s…", list, text[max(at-200, 0):min(at+60, len(text))])
		}
	}
}

// R3.6: a model that is gone is a matter of the provider: the next one takes over. When it is
// corrected, the provider is asked again.
func TestAModelThatOpenAIHasNotIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.openAI("openai")
	server.OnCall(func(call openaitest.Call) (openaitest.Answer, bool) {
		return openaitest.ModelGone(), call.Model == "gpt-5-mini"
	})
	w.provider("local", func(*v1alpha1.AIProvider) {})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("openai", "local"))
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if item.Status.Summary.Provider != "local" {
		t.Errorf("summarized by %s", item.Status.Summary.Provider)
	}
	misconfigured := w.untilProvider("openai", func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonConfigurationRefused)
	})
	apitest.Eventually(t, func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(misconfigured), misconfigured); err != nil {
			return err
		}
		misconfigured.Spec.OpenAI.Model = "gpt-5"
		return w.client.Update(ctx, misconfigured)
	})
	w.untilProvider("openai", func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	})
}
