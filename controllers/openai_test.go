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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
)

// The keys have no shape that would be masked anyway.
const (
	openAIKey      = "RECOGNISABLE/openai+0123456789"
	otherOpenAIKey = "RECOGNISABLE/another+0123456789"
)

// R2.4, R2.6, R3.9: one call judges and summarizes, and is counted with its tokens.
func TestOpenAIScreensAndSummarizesInOneCall(t *testing.T) { ofOpenAI.oneCall(t) }

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
	w.untilProvider("own", isReady)
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
	deferred, dead := v1alpha1.PhaseDeferred, v1alpha1.PhaseFailed
	ofOpenAI.endsAsItShould(t, map[string]answered{
		"429, with a time":   {openaitest.Throttled(37 * time.Second), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeThrottled, "CoolingDown", 37 * time.Second},
		"429, without money": {openaitest.QuotaSpent(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, "QuotaSpent", time.Hour},
		"503":                {openaitest.Overloaded(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeOverloaded, "Ready", 0},
		"an empty object":    {openaitest.Empty(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeEmpty, "Ready", 0},
		"a refusal":          {openaitest.Refusal(), dead, v1alpha1.ReasonInvalidContent, v1alpha1.CategoryValidation, failure.TypeBlocked, "Ready", 0},
	})
}

// R3.8, R5.6: a key that is refused stops the calls, and is in nothing that can be read; items
// revive when it is replaced.
func TestOpenAIItemsReviveWhenARefusedKeyIsReplaced(t *testing.T) { ofOpenAI.revives(t, 3) }

// R5.6: a server that sends the key back, in its words or in what the model writes, puts it nowhere.
func TestOpenAIKeyIsInNothingThatCanBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.service(ofOpenAI, "openai")
	server.Next(
		openaitest.Error(418, "odd", openAIKey, "The key "+openAIKey+" is odd."),
		openaitest.Error(401, "odd", "invalid_api_key", strings.Repeat("x", 280)+openAIKey),
	)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), summarizedBy("openai"))
	w.untilProvider("openai", isNotReady(v1alpha1.ReasonCredentialsRefused))
	w.untilItems("news", eachOf(2, func(item *v1alpha1.FeedItem) error {
		if item.Status.Failure == nil {
			return fmt.Errorf("%s has not failed", item.Name)
		}
		return nil
	}))
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
	server := w.service(ofOpenAI, "openai")
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
	misconfigured := w.untilProvider("openai", isNotReady(v1alpha1.ReasonConfigurationRefused))
	apitest.Eventually(t, func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(misconfigured), misconfigured); err != nil {
			return err
		}
		misconfigured.Spec.OpenAI.Model = "gpt-5"
		return w.client.Update(ctx, misconfigured)
	})
	w.untilProvider("openai", isReady)
}
