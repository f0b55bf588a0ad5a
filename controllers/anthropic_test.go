// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
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
)

// R2.4, R2.6, R3.9: one call judges and summarizes, and is counted with its tokens.
func TestAnthropicScreensAndSummarizesInOneCall(t *testing.T) { ofAnthropic.oneCall(t) }

// R3.8: key and model are checked before an article is sent, and what is wrong with them is named.
func TestAnthropicIsReadyOnlyWithAKeyAndAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.service(ofAnthropic, "anthropic")
	described := w.untilProvider("anthropic", isReady)
	server.NextModel(anthropictest.ModelGone())
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"anthropic":{"model":"claude-2.1"}}}`))
	if err := w.client.Patch(t.Context(), described, patch); err != nil {
		t.Fatal(err)
	}
	described = w.untilProvider("anthropic", isNotReady(v1alpha1.ReasonConfigurationRefused))
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
	w.untilProvider("anthropic", isNotReady(v1alpha1.ReasonCredentialsRefused))
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
	deferred, dead := v1alpha1.PhaseDeferred, v1alpha1.PhaseFailed
	quoting := anthropictest.Error(http.StatusBadRequest, "invalid_request_error", "The header x-api-key: "+apiKey+" is odd, "+apiKey)
	ofAnthropic.endsAsItShould(t, map[string]answered{
		"429 with a time":             {anthropictest.Throttled(37 * time.Second), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeThrottled, "CoolingDown", 37 * time.Second},
		"429 of a spend limit":        {anthropictest.SpendLimit(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, "QuotaSpent", time.Hour},
		"400 of a credit":             {anthropictest.NoCredit(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, "QuotaSpent", time.Hour},
		"529":                         {anthropictest.Overloaded(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeOverloaded, "Ready", 0},
		"a refusal":                   {anthropictest.Refusal("cyber"), dead, v1alpha1.ReasonInvalidContent, v1alpha1.CategoryValidation, failure.TypeBlocked, "Ready", 0},
		"400 with the key in it":      {quoting, dead, v1alpha1.ReasonInvalidConfiguration, v1alpha1.CategoryValidation, "InvalidRequest", "Ready", 0},
		"a firewall between the two":  {anthropictest.HTML(http.StatusForbidden), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeHTTPStatus, "Ready", 0},
		"a success that says nothing": {anthropictest.Empty(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeEmpty, "Ready", 0},
	})
}
