// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
)

const (
	apiKey   = "AIzaSy-RECOGNISABLE-0123456789abcdefghij"
	otherKey = "AIzaSy-RECOGNISABLE-another-0123456789ab"
)

// summarizedBy names the providers of a source.
func summarizedBy(names ...string) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) {
		for _, name := range names {
			source.Spec.Providers = append(source.Spec.Providers, v1alpha1.ProviderReference{Name: name})
		}
	}
}

// screenedBy sets the criteria of a source.
func screenedBy(criteria string) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) {
		source.Spec.Screening = &v1alpha1.ScreeningPolicy{Criteria: criteria}
	}
}

// untilProvider waits until a provider passes a check, and returns it.
func (w *world) untilProvider(name string, check func(*v1alpha1.AIProvider) error) *v1alpha1.AIProvider {
	w.t.Helper()
	var found v1alpha1.AIProvider
	apitest.Eventually(w.t, func(ctx context.Context) error {
		found = v1alpha1.AIProvider{}
		key := types.NamespacedName{Namespace: w.namespace, Name: name}
		if err := w.client.Get(ctx, key, &found); err != nil {
			return err
		}
		err := check(&found)
		if err != nil {
			w.lookAt(controllers.ProviderKey, key)
		}
		return err
	})
	checkRules(w.t, found.Generation, found.Status.ObservedGeneration, found.Status.Conditions)
	return &found
}

// R2.4, R2.6, R3.9: one call judges and summarizes, and is counted with its tokens.
func TestGeminiScreensAndSummarizesInOneCall(t *testing.T) { ofGemini.oneCall(t) }

// R2.4: a verdict against an article counts like a failure; while the article stays the same the
// provider is not asked again; in the end the item is done with, without being a dead letter.
func TestAnArticleThatIsNotWorthASummaryIsSkippedInTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini")
	server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
		return geminitest.Verdict(false, true, "It announces a ceremony.", ""), true
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"), screenedBy("No ceremonies"))
	for retry := range int32(5) {
		item := w.untilItem("news", func(item *v1alpha1.FeedItem) error {
			if item.Status.RetryCount != retry {
				return fmt.Errorf("retry %d, want %d", item.Status.RetryCount, retry)
			}
			return inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonNotValuable)(item)
		})
		if message := readyMessage(item); !strings.Contains(message, "ceremony") {
			t.Errorf("message %q", message)
		}
		w.clock.SetTime(item.Status.NextRetryTime.Time)
	}
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNotValuable))
	if calls := len(server.Calls()); calls != 1 {
		t.Errorf("the provider was asked %d times about the same article", calls)
	}
	if item.Status.Failure != nil || item.Status.Summary != nil {
		t.Errorf("status %+v", item.Status)
	}
	// R3.7: a skipped item that is forced is judged again.
	server.OnCall(nil)
	w.retry(item.Name, "again")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// R2.4: a page that is not complete is waited for; when it changes, it is judged again.
func TestAPageThatIsNotCompleteIsJudgedAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini")
	server.Next(geminitest.Verdict(true, false, "Only a placeholder.", ""))
	web := feedtest.New(t)
	entries := web.Entries("news", 1)
	entries[0].Content = strings.Repeat("The text follows soon, please come back later. ", 30)
	web.List(entries...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"), screenedBy("All news"))
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonPageNotReady))
	if item.Status.Failure == nil || !strings.Contains(item.Status.Failure.Message, "placeholder") {
		t.Errorf("failure %+v", item.Status.Failure)
	}
	// The owner decides to read the page instead: the text is another one.
	w.change(w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded)), `{"spec":{"article":{"source":"Page"}}}`)
	w.clock.SetTime(item.Status.NextRetryTime.Time)
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if calls := len(server.Calls()); calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
}

// R3.1, R3.2, R3.3, R3.4, R3.9: whatever Gemini answers ends in its category, count and time, on
// the item and on the provider.
func TestEachAnswerOfGeminiEndsWhereItShould(t *testing.T) {
	deferred, dead := v1alpha1.PhaseDeferred, v1alpha1.PhaseFailed
	ofGemini.endsAsItShould(t, map[string]answered{
		"429 per minute, with a time":    {geminitest.Throttled(37 * time.Second), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeThrottled, "CoolingDown", 37 * time.Second},
		"429 per minute, without a time": {geminitest.Throttled(0), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeThrottled, "CoolingDown", 5 * time.Second},
		"429 per day":                    {geminitest.QuotaPerDay(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, "QuotaSpent", time.Hour},
		"500":                            {geminitest.Internal(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeHTTPStatus, "Ready", 0},
		"503":                            {geminitest.Unavailable(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeOverloaded, "Ready", 0},
		"no answer":                      {geminitest.Hang(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryNetwork, failure.TypeTimeout, "Ready", 0},
		"an empty object":                {geminitest.Empty(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeEmpty, "Ready", 0},
		"broken JSON":                    {geminitest.BrokenJSON(), deferred, v1alpha1.ReasonAPIFailed, v1alpha1.CategoryAPI, failure.TypeMalformed, "Ready", 0},
		"a blocked prompt":               {geminitest.Blocked("PROHIBITED_CONTENT"), dead, v1alpha1.ReasonInvalidContent, v1alpha1.CategoryValidation, failure.TypeBlocked, "Ready", 0},
		"a blocked answer":               {geminitest.Stopped("SAFETY"), dead, v1alpha1.ReasonInvalidContent, v1alpha1.CategoryValidation, failure.TypeBlocked, "Ready", 0},
		"a refusal in words":             {geminitest.Refusal(), dead, v1alpha1.ReasonInvalidContent, v1alpha1.CategoryValidation, failure.TypeBlocked, "Ready", 0},
	}, func(described *v1alpha1.AIProvider) { described.Spec.Timeout = &metav1.Duration{Duration: time.Second} })
}

// R3.8: a key that is refused stops the calls; items revive when it is replaced, also when the
// call with the old one fails late.
func TestItemsReviveWhenARefusedKeyIsReplaced(t *testing.T) { ofGemini.revives(t, 10) }

// R3.8: what is missing is named, and items wait without using up a retry.
func TestItemsWaitForASecretThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := geminitest.New(apiKey)
	t.Cleanup(server.Close)
	w.provider("gemini", ofGemini.asks(server.URL, "later"))
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonCredentialsMissing))
	w.untilItems("news", eachOf(2, waitsFor(`Secret "later"`)))
	w.secret("later", "apiKey", apiKey)
	w.clock.Step(30 * time.Second)
	w.untilProvider("gemini", isReady)
	for _, item := range w.untilItems("news", allProcessed(2)) {
		if item.Status.RetryCount != 0 || item.Status.FirstFailureTime != nil {
			t.Errorf("waiting was counted: %+v", item.Status)
		}
	}
}

// R3.6: a model that is gone is a matter of the provider: the next one takes over, and where there
// is none the items wait.
func TestAModelThatIsGoneIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.ModelGone(), true })
	server.NextModel(geminitest.ModelGone())
	w.provider("local", func(*v1alpha1.AIProvider) {})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini", "local"))
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if item.Status.Summary.Provider != "local" {
		t.Errorf("summarized by %s", item.Status.Summary.Provider)
	}
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonConfigurationRefused))
	web2 := feedtest.New(t)
	web2.List(web2.Entries("more", 1)...)
	w.source("more", web2.FeedURL(), summarizedBy("gemini"))
	w.untilItem("more", func(item *v1alpha1.FeedItem) error {
		if item.Status.Reason != v1alpha1.ReasonWaiting {
			return fmt.Errorf("%s/%s", item.Status.Phase, item.Status.Reason)
		}
		return nil
	})
}

// R3.5, R3.9: neither a spent quota nor a cool-down begins anew, or is forgotten, with a restart.
func TestAvailabilitySurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini")
	server.Next(geminitest.QuotaPerDay())
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	spent := isNotReady(v1alpha1.ReasonQuotaSpent)
	before := w.untilProvider("gemini", spent)
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed))
	w.restart()
	w.clock.SetTime(item.Status.NextRetryTime.Time) // the item is due, the provider is not
	after := w.untilProvider("gemini", spent)
	if !after.Status.Availability.Until.Equal(before.Status.Availability.Until) {
		t.Errorf("until %s, before the restart %s", after.Status.Availability.Until, before.Status.Availability.Until)
	}
	w.lookAt(controllers.ItemKey, types.NamespacedName{Namespace: w.namespace, Name: item.Name})
	if calls := len(server.Calls()); calls != 1 {
		t.Errorf("%d calls though the quota is spent", calls)
	}
	w.clock.SetTime(after.Status.Availability.Until.Time)
	done := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if done.Status.RetryCount != 0 {
		t.Errorf("waiting was counted: %d retries", done.Status.RetryCount)
	}
	w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if p.Status.Availability.State != "Ready" || p.Status.Calls != 2 {
			return fmt.Errorf("status %+v", p.Status)
		}
		return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	})
}
