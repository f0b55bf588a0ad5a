// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R3.6: an item fails for good only if every provider failed for good. One that is merely down (here
// for its quota, R3.12) has not failed at all.
func TestAnItemDoesNotFailForGoodWhileAProviderIsOnlyDown(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]func(*world){
		"quota spent": func(w *world) {
			first := feedtest.New(w.t)
			first.List(first.Entries("first", 1)...)
			w.source("first", first.FeedURL(), summarizedBy("writer"))
			w.awaitItem("first", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed))
			w.untilProvider("writer", isNotReady(v1alpha1.ReasonQuotaSpent))
		},
		"suspended": func(w *world) {
			w.suspend(&v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "writer"}}, true)
			w.untilProvider("writer", isNotReady(v1alpha1.ReasonSuspended))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quota := failure.New(v1alpha1.CategoryRateLimit, "", "The quota is spent.")
			quota.Quota = true
			writer := &script{answer: func(int, provider.Request) (provider.Response, error) { return provider.Response{}, quota }}
			refusing := &script{answer: failsFor(1000, v1alpha1.CategoryValidation)}
			w := scriptedWorld(t, map[string]*script{"writer": writer, "refusing": refusing})
			down(w)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), summarizedBy("writer", "refusing"))
			await(t, refusing.calledTimes(1))
			item := w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
				if item.Status.FirstFailureTime == nil {
					return errNotYet
				}
				return nil
			})
			if item.Status.Phase == v1alpha1.PhaseFailed {
				t.Errorf("the item has failed for good (%s: %s), though its first provider was never asked",
					item.Status.Reason, item.Status.Failure.Message)
			}
		})
	}
}

// R2.8, R3.6: where the verdict of a judge cannot be written down at once, the judge is not asked to
// write the summary: the source names another for that.
func TestAJudgeDoesNotWriteBecauseItsVerdictWasNotWritten(t *testing.T) {
	t.Parallel()
	cheap, dear := &script{}, &script{}
	w := scriptedWorld(t, map[string]*script{"cheap": cheap, "dear": dear})
	var mu sync.Mutex
	refused := false
	w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
		mu.Lock()
		defer mu.Unlock()
		if refused || !strings.Contains(body, `"screening"`) {
			return nil
		}
		refused = true // once, as while RBAC or a webhook is being rolled out
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "not now"}
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("dear"), screenedBy("All news"), judgedBy("cheap"))
	item := w.itemsInTime("news", allProcessed(1))[0]
	if item.Status.Summary.Provider != "dear" || cheap.calls() != 1 {
		t.Errorf("the summary was written by %s; only asked for a verdict: %v", item.Status.Summary.Provider, cheap.only)
	}
}

// parkedAtPaced has an item whose first provider has refused it, and that waits for the second, which
// is busy for a minute.
func parkedAtPaced(t *testing.T) (w *world, broken, paced *script) {
	t.Helper()
	broken, paced = &script{answer: failsFor(1, v1alpha1.CategoryValidation)}, &script{}
	w = scriptedWorld(t, map[string]*script{"broken": broken})
	w.scripted["paced"] = paced
	paced.answer = func(call int, request provider.Request) (provider.Response, error) {
		if call > 0 {
			return provider.Response{}, failure.New(v1alpha1.CategoryRateLimit, "", "Too fast.")
		}
		return written(request), nil
	}
	w.script("paced", func(described *v1alpha1.AIProvider) { described.Spec.RequestsPerMinute = new(int32(1)) })
	first, web := feedtest.New(t), feedtest.New(t)
	first.List(first.Entries("first", 1)...)
	w.source("first", first.FeedURL(), summarizedBy("paced"))
	w.awaitItem("first", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("broken", "paced"))
	await(t, broken.calledTimes(1))
	return w, broken, paced
}

// R3.7: who mends a provider and asks for a retry of all that has failed there, is served also for an
// item whose attempt has failed there and waits for the next provider meanwhile.
func TestARetryOfAProviderReachesAnAttemptThatWaits(t *testing.T) {
	t.Parallel()
	w, broken, paced := parkedAtPaced(t)
	w.retryAll(&v1alpha1.AIProvider{}, "broken", "mended")
	w.untilProvider("broken", func(p *v1alpha1.AIProvider) error {
		if p.Status.LastHandledRetry != "mended" {
			return errNotYet
		}
		return nil
	})
	await(t, func() error {
		if broken.calls() == 2 || paced.calls() == 2 {
			return nil
		}
		return errNotYet
	})
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// R3.7: so with a retry of the item itself.
func TestARetryOfAnItemReachesAnAttemptThatWaits(t *testing.T) {
	t.Parallel()
	w, broken, paced := parkedAtPaced(t)
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	w.retry(items[0].Name, "now")
	await(t, func() error {
		if broken.calls() == 2 || paced.calls() == 2 {
			return nil
		}
		return errNotYet
	})
	item := w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
		if item.Status.LastHandledRetry != "now" {
			return errNotYet
		}
		return nil
	})
	if broken.calls() != 2 {
		t.Errorf("the token is used up (%q), and the provider was not asked again: %s, next %v", item.Status.LastHandledRetry,
			item.Status.Phase, item.Status.NextRetryTime)
	}
}

// R3.3: at most 10 s of waiting in all, else the attempt ends and hands over; also where the provider
// is paced.
func TestRepetitionsAtAPacedProviderEndAfterTenSeconds(t *testing.T) {
	t.Parallel()
	broken, steady := &script{answer: failsFor(1000, v1alpha1.CategoryAPI)}, &script{}
	w := scriptedWorld(t, map[string]*script{"steady": steady})
	w.scripted["broken"] = broken
	w.script("broken", func(described *v1alpha1.AIProvider) { described.Spec.RequestsPerMinute = new(int32(1)) })
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("broken", "steady"))
	began := w.clock.Now()
	w.timePasses(steady.calledTimes(1))
	const most = 30 * time.Second // time passes in steps while the operator is at work; the provider's next call would be after a minute
	if passed := w.clock.Now().Sub(began); passed > most {
		t.Errorf("after %s the attempt still waited to repeat its call (%d so far), with a free provider next in the chain", passed, broken.calls())
	}
}

// R5.5, R3.6: who succeeds after a repetition in place is no fallback from itself.
func TestAProviderIsNoFallbackFromItself(t *testing.T) {
	t.Parallel()
	log := &logged{}
	shaky := &script{answer: failsFor(1, v1alpha1.CategoryAPI)}
	w := scriptedWorld(t, map[string]*script{"shaky": shaky}, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("shaky"))
	w.timePasses(shaky.calledTimes(2))
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	await(t, func() error {
		for text := range strings.Lines(log.text()) {
			if strings.Contains(text, `"stage.ended"`) && strings.Contains(text, "Summarized") {
				return nil
			}
		}
		return errors.New("no line yet")
	})
	for text := range strings.Lines(log.text()) {
		if strings.Contains(text, "fallback") {
			t.Errorf("shaky fell back from shaky: %s", text)
		}
	}
}

// R3.7, R3.12: a released item whose call was made and has failed is written down also where its
// provider is closed for refused credentials before the call is repeated.
func TestACallOfAReleasedItemIsNotForgotten(t *testing.T) {
	t.Parallel()
	only := &script{answer: failsFor(1, v1alpha1.CategoryValidation)}
	w := scriptedWorld(t, map[string]*script{"only": only})
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	other.List(other.Entries("other", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("only"))
	before := w.awaitItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration))
	only.answered(func(_ int, request provider.Request) (provider.Response, error) {
		if strings.Contains(request.Title, "other") {
			return provider.Response{}, failure.New(v1alpha1.CategoryAuth, failure.TypeCredentials, "Refused.")
		}
		return provider.Response{}, failure.New(v1alpha1.CategoryAPI, "", "Broken.")
	})
	w.retryAll(&v1alpha1.AIProvider{}, "only", "1")
	await(t, only.calledTimes(2))
	w.source("other", other.FeedURL(), summarizedBy("only"))
	w.awaitItem("other", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed))
	w.timePasses(func() error {
		items, err := w.items(t.Context(), "news")
		if err != nil {
			return err
		}
		if items[0].ResourceVersion == before.ResourceVersion {
			return errNotYet // nothing is written of a call that was made
		}
		return nil
	})
}

func (s *script) answered(answer func(int, provider.Request) (provider.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// repeating repeats failed calls in place, as the operator usually does.
func repeating(w *world) { w.inPlace = backoff.DefaultInPlace }

// cutOffPost has an item whose post could not be made, and waits for its repetition.
func cutOffPost(t *testing.T, server *mastodontest.Server, w *world, change ...func(*v1alpha1.FeedDestination)) (*network, *v1alpha1.FeedSource) {
	t.Helper()
	net := newNetwork(t, server)
	w.openDestination("press", net.URL, change...)
	net.cut()
	source := w.oneItem("press")
	w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent))
	return net, source
}

// callFailed waits until the log tells of a call that has failed, and is made again.
func (l *logged) callFailed(t *testing.T) {
	t.Helper()
	await(t, func() error {
		if !strings.Contains(l.text(), `"call.failed"`) {
			return errNotYet
		}
		return nil
	})
}

// R1.9, R4.5: what is not wanted any more is not posted by a repetition in place.
func TestARepetitionInPlaceLooksWhetherItIsStillWanted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"the source is suspended":              `{"spec":{"suspend":true}}`,
		"the source names another destination": `{"spec":{"destinations":[{"name":"other"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, log := loggingWorld(t, repeating)
			server := w.mastodon()
			net, source := cutOffPost(t, server, w)
			log.callFailed(t)
			w.change(source, change)
			w.untilUpToDate()
			net.heal()
			w.timePasses(func() error {
				items, err := w.items(t.Context(), "news")
				if err != nil {
					return err
				}
				if items[0].Status.Deliveries[0].FailedAttempts == 0 {
					return errNotYet
				}
				return nil
			})
			if posts := len(server.Posts()); posts != 0 {
				t.Errorf("%d posts of what is not to be posted any more", posts)
			}
		})
	}
}

// R3.3, R4.4: a repetition has time for its call: one that is made with the last moments of the intent
// turns a failure that is certain into one that nobody can settle.
func TestARepetitionInPlaceHasTimeForItsCall(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t, repeating)
	server := w.mastodon()
	net, _ := cutOffPost(t, server, w)
	log.callFailed(t)
	net.heal()
	item := w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent))
	w.clock.SetTime(item.Status.Deliveries[0].NotAfter.Add(-200 * time.Millisecond))
	item = w.awaitItem("news", hasFailed("press", 1))
	if len(server.Posts()) != 0 || item.Status.Deliveries[0].State != v1alpha1.DeliveryQueued {
		t.Errorf("%d posts, delivery %+v", len(server.Posts()), item.Status.Deliveries[0])
	}
}

// R3.3: where a destination spaces its posts, the repetition waits for that too, as long as it may.
func TestADestinationWithAnIntervalRepeatsInPlace(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t, repeating)
	server := w.mastodon()
	net, _ := cutOffPost(t, server, w, func(described *v1alpha1.FeedDestination) {
		described.Spec.MinInterval = &metav1.Duration{Duration: 5 * time.Second}
	})
	log.callFailed(t)
	net.heal()
	began := w.clock.Now()
	w.timePasses(func() error {
		if len(server.Posts()) == 0 {
			return errNotYet
		}
		return nil
	})
	item := w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if passed := w.clock.Now().Sub(began); passed > 10*time.Second || item.Status.Deliveries[0].FailedAttempts != 0 {
		t.Errorf("posted after %s: %+v", passed, item.Status.Deliveries[0])
	}
}

// R3.8, R2.4: items whose only judge cannot judge wait, and go on when that is made one that can.
func TestItemsGoOnWhenTheirJudgeIsMadeOneThatCan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) {
		w.scripted = map[string]provider.Provider{"dear": &script{}, "judge": &script{}}
	})
	w.script("dear", func(*v1alpha1.AIProvider) {})
	w.provider("judge", func(*v1alpha1.AIProvider) {}) // the extractive one
	w.untilProvider("judge", isReady)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("dear"), screenedBy("All news"), judgedBy("judge"))
	w.awaitItem("news", waitsFor("can judge"))
	w.changeProvider("judge", `{"spec":{"extractive":null,"openAI":{"model":"script-1","endpoint":"https://scripted.example/v1"}}}`)
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// R3.10: somebody is told of an item that has failed for good, also where it was released since and
// waits for a provider that is suspended.
func TestAReleasedItemThatWaitsIsStillToldOf(t *testing.T) {
	t.Parallel()
	w, _ := failedWorldTelling(t, "admin")
	w.suspend(&v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "writer"}}, true)
	w.untilProvider("writer", isNotReady(v1alpha1.ReasonSuspended))
	w.retryAll(&v1alpha1.AIProvider{}, "writer", "1")
	w.untilProvider("writer", func(p *v1alpha1.AIProvider) error {
		if p.Status.LastHandledRetry != "1" {
			return errNotYet
		}
		return nil
	})
	server := w.mastodon()
	w.openDestination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect))
	w.awaitItem("news", told("admin", v1alpha1.NotificationDone, 0))
}

// failedWorldTelling is failedWorld with one item and somebody to be told, who is not there yet.
func failedWorldTelling(t *testing.T, name string) (*world, *scripted) {
	t.Helper()
	script := &scripted{}
	script.now(refuses)
	w := newWorld(t, func(w *world) { w.builtin = script })
	w.provider("writer", func(*v1alpha1.AIProvider) {})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"), tells(name))
	w.awaitItems("news", allFailed(1))
	return w, script
}

// R3.10, R3.11: the end of an item is told also where the answer of the API server to that write is lost.
func TestTheEndOfAnItemIsToldThoughTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t)
	lost := w.loseAnswer(`"` + string(v1alpha1.PhaseFailed) + `"`)
	w.brokenPages(1)
	w.awaitItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded))
	await(t, func() error {
		if lost.Load() == 0 || strings.Count(log.text(), `"item.ended"`) != 1 {
			return errNotYet
		}
		return nil
	})
}
