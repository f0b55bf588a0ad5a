// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// script is a provider that a test plays, and notes what it is asked.
type script struct {
	mu     sync.Mutex
	titles []string
	times  []time.Time // of the calls, by the clock of the world
	judged []bool      // whether the call was for a verdict, too
	only   []bool      // or for nothing else
	now    func() time.Time
	// answer is what it does; nil is for an ordinary summary.
	answer func(call int, request provider.Request) (provider.Response, error)
}

func (s *script) Generate(_ context.Context, request provider.Request) (provider.Response, error) {
	s.mu.Lock()
	call, answer := len(s.titles), s.answer
	s.titles = append(s.titles, request.Title)
	if s.now != nil {
		s.times = append(s.times, s.now())
	}
	s.judged = append(s.judged, request.Screening != nil)
	s.only = append(s.only, request.Screening != nil && request.Screening.Only)
	s.mu.Unlock()
	if answer != nil {
		return answer(call, request)
	}
	return written(request), nil
}

// written is an ordinary answer.
func written(request provider.Request) provider.Response {
	response := provider.Response{Model: "script-1", Tokens: 100}
	if request.Screening != nil {
		response.Verdict = &provider.Verdict{Valuable: true, Complete: true, Explanation: "It is news."}
	}
	if request.Screening == nil || !request.Screening.Only {
		response.Summary = "A summary of " + request.Title + "."
	}
	return response
}

func (s *script) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.titles)
}

func (s *script) calledTimes(n int) func() error {
	return func() error {
		if got := s.calls(); got != n {
			return fmt.Errorf("%d calls, want %d", got, n)
		}
		return nil
	}
}

// apart checks that the calls were at least so long apart.
func (s *script) apart(waits ...time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.times) != len(waits)+1 {
		return fmt.Errorf("%d calls, want %d", len(s.times), len(waits)+1)
	}
	for i, wait := range waits {
		if got := s.times[i+1].Sub(s.times[i]); got < wait*8/10 {
			return fmt.Errorf("call %d came %s after the one before, want %s", i+2, got, wait)
		}
	}
	return nil
}

// failsFor makes the first n calls of a script fail.
func failsFor(n int, category v1alpha1.Category) func(int, provider.Request) (provider.Response, error) {
	return func(call int, request provider.Request) (provider.Response, error) {
		if call < n {
			return provider.Response{}, failure.New(category, "", "It failed on purpose.")
		}
		return written(request), nil
	}
}

// scriptedWorld starts an operator with scripted providers, open to be asked, and with the usual
// repetitions in place.
func scriptedWorld(t *testing.T, scripts map[string]*script, change ...func(*world)) *world {
	t.Helper()
	w := newWorld(t, append([]func(*world){func(w *world) {
		w.inPlace = backoff.DefaultInPlace
		w.scripted = map[string]provider.Provider{}
		for name, played := range scripts {
			played.now = w.clock.Now
			w.scripted[name] = played
		}
	}}, change...)...)
	for name := range scripts {
		w.script(name, func(*v1alpha1.AIProvider) {})
	}
	return w
}

// script makes the AIProvider of a script: a server of one's own that needs no key.
func (w *world) script(name string, change func(*v1alpha1.AIProvider)) {
	w.t.Helper()
	w.provider(name, func(described *v1alpha1.AIProvider) {
		described.Spec.Extractive = nil
		described.Spec.OpenAI = &v1alpha1.OpenAIProvider{Model: "script-1", Endpoint: "https://scripted.example/v1"}
		change(described)
	})
	w.untilProvider(name, isReady)
}

// R3.3: a call that fails for the other side is made again after 0.5, 1 and 2 s, within the same
// attempt: the item is not deferred, no retry is used up, and no worker is kept meanwhile.
func TestACallThatFailsIsRepeatedInPlace(t *testing.T) {
	t.Parallel()
	shaky := &script{answer: failsFor(3, v1alpha1.CategoryAPI)}
	steady := &script{}
	w := scriptedWorld(t, map[string]*script{"shaky": shaky, "steady": steady}, func(w *world) { w.workers = 1 })
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	other.List(other.Entries("other", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("shaky"))
	await(t, shaky.calledTimes(1)) // the only worker is free for the items of others
	w.source("other", other.FeedURL(), summarizedBy("steady"))
	w.awaitItem("other", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	for calls := 2; calls <= 4; calls++ {
		if item := w.awaitItem("news", inPhase(v1alpha1.PhaseUnprocessed, v1alpha1.ReasonNone)); item.Status.FirstFailureTime != nil {
			t.Fatalf("a failure is written down before call %d: %+v", calls, item.Status)
		}
		w.timePasses(shaky.calledTimes(calls))
	}
	if err := shaky.apart(500*time.Millisecond, time.Second, 2*time.Second); err != nil {
		t.Error(err)
	}
	item := w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if item.Status.RetryCount != 0 || item.Status.FirstFailureTime != nil || shaky.calls() != 4 || web.Hits("/articles/news-1") != 1 {
		t.Errorf("%d calls, the page read %d times, status %+v", shaky.calls(), web.Hits("/articles/news-1"), item.Status)
	}
	if failures := item.Status.ProviderFailures; len(failures) != 1 || failures[0].Count != 3 || failures[0].Category != v1alpha1.CategoryAPI {
		t.Errorf("failures %+v, want three of shaky", failures)
	}
}

// timePasses lets time pass, little by little, until a check passes. As long as it passes there is something to wait for: on a busy machine a
// minute of it may take longer than that.
func (w *world) timePasses(check func() error) {
	w.t.Helper()
	w.timePassesBy(200*time.Millisecond, check)
}

func (w *world) timePassesBy(step time.Duration, check func() error) {
	w.t.Helper()
	began := w.clock.Now()
	await(w.t, func() error {
		err := check()
		if err == nil {
			return nil
		}
		if step >= time.Second {
			step = max(step, min(w.clock.Now().Sub(began)/10, 10*time.Second))
		}
		w.clock.Step(step)
		return fmt.Errorf("after %s: %w", w.clock.Now().Sub(began).Truncate(10*time.Second), err)
	})
}

// itemsInTime lets time pass until the items of a source pass a check, and returns them: second by second, and the longer it takes the
// longer the steps.
func (w *world) itemsInTime(source string, check func([]v1alpha1.FeedItem) error) []v1alpha1.FeedItem {
	w.t.Helper()
	var items []v1alpha1.FeedItem
	w.timePassesBy(time.Second, func() (err error) {
		if items, err = w.items(w.t.Context(), source); err != nil {
			return err
		}
		return check(items)
	})
	return items
}

// R3.3, R3.6: whoever fails four times hands over to the next, in the same attempt.
func TestAfterItsRepetitionsAProviderHandsOver(t *testing.T) {
	t.Parallel()
	broken, steady := &script{answer: failsFor(1000, v1alpha1.CategoryNetwork)}, &script{}
	w := scriptedWorld(t, map[string]*script{"broken": broken, "steady": steady})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("broken", "steady"))
	w.timePasses(broken.calledTimes(4))
	if err := broken.apart(time.Second, 2*time.Second, 4*time.Second); err != nil {
		t.Error(err)
	}
	item := w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if broken.calls() != 4 || steady.calls() != 1 || item.Status.Summary.Provider != "steady" || item.Status.RetryCount != 0 {
		t.Errorf("calls %d and %d, status %+v", broken.calls(), steady.calls(), item.Status)
	}
}

// R3.6: after the first provider has failed, the next one is waited for where it is merely busy; the
// item is not deferred for that.
func TestABusyProviderIsWaitedForAfterAnotherHasFailed(t *testing.T) {
	t.Parallel()
	refusing, paced := &script{answer: failsFor(1000, v1alpha1.CategoryValidation)}, &script{}
	w := scriptedWorld(t, map[string]*script{"refusing": refusing})
	w.scripted["paced"] = paced
	w.script("paced", func(described *v1alpha1.AIProvider) { described.Spec.RequestsPerMinute = new(int32(6)) })
	const n = 3
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("refusing", "paced"))
	await(t, refusing.calledTimes(n))
	for i := range n {
		await(t, paced.calledTimes(i+1))
		w.lookAtItems("news") // those that wait are in line
		w.clock.Step(10*time.Second + 400*time.Millisecond)
	}
	for _, item := range w.awaitItems("news", allProcessed(n)) {
		if item.Status.Summary.Provider != "paced" || item.Status.FirstFailureTime != nil || len(item.Status.ProviderFailures) != 1 {
			t.Errorf("status %+v", item.Status)
		}
		if hits := web.Hits("/articles/" + item.Spec.Title[len("News about "):]); hits != 1 {
			t.Errorf("the page of %s was read %d times", item.Spec.Title, hits)
		}
	}
	if refusing.calls() != n {
		t.Errorf("the one that refuses was called %d times", refusing.calls())
	}
}

// R3.6, R3.12: where the next one goes down while it is waited for, the attempt has failed: a call
// was made.
func TestAnAttemptEndsWhenTheProviderItWaitsForGoesDown(t *testing.T) {
	t.Parallel()
	broken, paced := &script{answer: failsFor(1000, v1alpha1.CategoryRateLimit)}, &script{}
	w := scriptedWorld(t, map[string]*script{"broken": broken})
	w.scripted["paced"] = paced
	w.script("paced", func(described *v1alpha1.AIProvider) { described.Spec.RequestsPerMinute = new(int32(1)) })
	web, first := feedtest.New(t), feedtest.New(t)
	first.List(first.Entries("first", 1)...)
	w.source("first", first.FeedURL(), summarizedBy("paced"))
	w.awaitItem("first", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)) // now it is busy for a minute
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("broken", "paced"))
	await(t, broken.calledTimes(1))
	w.suspend(&v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "paced"}}, true)
	item := w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
		return inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed)(item)
	})
	if item.Status.RetryCount != 0 || item.Status.Failure.Object != "broken" || paced.calls() != 1 {
		t.Errorf("%d calls of the one that was waited for, status %+v", paced.calls(), item.Status)
	}
}

// R2.4, R3.6: a cheaper provider judges, another one summarizes; what is not worth it costs the
// latter nothing, and the page is read once.
func TestScreeningByAnotherProvider(t *testing.T) {
	t.Parallel()
	cheap, dear := &script{}, &script{}
	cheap.answer = func(_ int, request provider.Request) (provider.Response, error) {
		response := written(request)
		response.Verdict.Valuable = request.Title != "News about news-1"
		return response, nil
	}
	w := scriptedWorld(t, map[string]*script{"cheap": cheap, "dear": dear})
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), summarizedBy("dear"), screenedBy("All news"), judgedBy("cheap"))
	items := w.awaitItems("news", func(items []v1alpha1.FeedItem) error {
		done := 0
		for i := range items {
			if items[i].Status.Summary != nil || items[i].Status.Reason == v1alpha1.ReasonNotValuable {
				done++
			}
		}
		if done != 3 {
			return fmt.Errorf("%d judged", done)
		}
		return nil
	})
	for i := range items {
		status := items[i].Status
		if status.Screening == nil || status.Screening.Provider != "cheap" || status.Screening.Valuable != (status.Summary != nil) {
			t.Errorf("%s: %+v", items[i].Spec.Title, status)
		}
		if status.Summary != nil && status.Summary.Provider != "dear" {
			t.Errorf("summarized by %s", status.Summary.Provider)
		}
	}
	if diff := cmp.Diff([]bool{true, true, true}, cheap.only); diff != "" {
		t.Errorf("the cheap one was asked for more than a verdict: %s", diff)
	}
	if diff := cmp.Diff([]bool{false, false}, dear.judged); diff != "" || slices.Contains(dear.titles, "News about news-1") {
		t.Errorf("the dear one was asked to judge, or about %q: %s", dear.titles, diff)
	}
	for i := 1; i <= 3; i++ {
		if hits := web.Hits(fmt.Sprintf("/articles/news-%d", i)); hits != 1 {
			t.Errorf("page %d was read %d times", i, hits)
		}
	}
}

// judgedBy names the providers that screen for a source.
func judgedBy(names ...string) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) {
		for _, name := range names {
			source.Spec.Screening.Providers = append(source.Spec.Screening.Providers, v1alpha1.ProviderReference{Name: name})
		}
	}
}

// R2.6: where the same provider comes first at both, one call does both; where that is down, another
// one judges, and the summary is still the writers'.
func TestOneProviderThatJudgesAndWritesIsCalledOnce(t *testing.T) {
	t.Parallel()
	both, other := &script{}, &script{}
	w := scriptedWorld(t, map[string]*script{"both": both, "other": other})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("both", "other"), screenedBy("All news"), judgedBy("both", "other"))
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if both.calls() != 1 || other.calls() != 0 || both.only[0] {
		t.Errorf("calls %d and %d", both.calls(), other.calls())
	}
}

// R2.1, R2.8: a verdict is written down before the summary is asked for, and is not asked for again
// when that fails, or the operator is restarted in between.
func TestAVerdictOfAnotherProviderIsKept(t *testing.T) {
	t.Parallel()
	cheap, dear := &script{}, &script{}
	w := scriptedWorld(t, map[string]*script{"cheap": cheap, "dear": dear})
	w.suspend(&v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "dear"}}, true)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("dear"), screenedBy("All news"), judgedBy("cheap"))
	item := w.untilItem("news", inPhase(v1alpha1.PhasePending, v1alpha1.ReasonWaiting))
	if !item.Status.Screening.Passed() || item.Status.Summary != nil {
		t.Fatalf("status %+v", item.Status)
	}
	w.restart()
	w.suspend(&v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "dear"}}, false)
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if cheap.calls() != 1 || dear.calls() != 1 {
		t.Errorf("calls %d and %d", cheap.calls(), dear.calls())
	}
}

// R3.13: a page that hangs does not keep a provider from the items of others.
func TestAPageThatHangsDoesNotHoldItsProvider(t *testing.T) {
	t.Parallel()
	only := &script{}
	w := scriptedWorld(t, map[string]*script{})
	w.scripted["only"] = only
	w.script("only", func(described *v1alpha1.AIProvider) {
		described.Spec.RequestsPerMinute, described.Spec.MaxConcurrent = new(int32(1)), new(int32(1))
	})
	hanging, web := feedtest.New(t), feedtest.New(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	reached := make(chan struct{}, 8)
	hanging.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/feed.xml" {
			return false
		}
		reached <- struct{}{}
		<-release
		return false
	})
	first := feedtest.New(t)
	first.List(first.Entries("first", 1)...)
	w.source("first", first.FeedURL(), summarizedBy("only"))
	w.awaitItem("first", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)) // now it is busy for a minute
	hanging.List(hanging.Entries("hang", 1)...)
	w.source("hang", hanging.FeedURL(), summarizedBy("only"))
	w.awaitItems("hang", hasItems(1))
	w.timePasses(func() error { // the item gets the provider and reads its page
		select {
		case <-reached:
			return nil
		default:
			w.lookAtItems("hang")
			w.clock.Step(10 * time.Second)
			return errNotYet
		}
	})
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("only"))
	w.awaitItems("news", hasItems(1))
	w.timePasses(func() error {
		w.clock.Step(10 * time.Second)
		return only.calledTimes(2)()
	})
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// R3.3, R4.4: a post that certainly was not made is made again within its intent, apart from the
// workers.
func TestAPostThatWasNotMadeIsRepeatedInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.inPlace, w.workers = backoff.DefaultInPlace, 1 })
	server := w.mastodon()
	net := newNetwork(t, server)
	w.openDestination("press", net.URL)
	net.cut()
	w.oneItem("press")
	item := w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent))
	notAfter := item.Status.Deliveries[0].NotAfter
	net.heal()
	w.timePasses(func() error {
		if len(server.Posts()) == 0 {
			return errNotYet
		}
		return nil
	})
	item = w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	row := item.Status.Deliveries[0]
	if len(server.Posts()) != 1 || row.FailedAttempts != 0 || !row.NotAfter.Equal(notAfter) {
		t.Errorf("%d posts, delivery %+v", len(server.Posts()), row)
	}
}

// R3.3: what goes on failing is one failed attempt, at the end of its repetitions.
func TestRepetitionsInPlaceAreOneAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repeating)
	server := w.mastodon()
	net := newNetwork(t, server)
	w.openDestination("press", net.URL)
	net.cut()
	w.oneItem("press")
	began := w.clock.Now()
	w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent))
	w.timePasses(func() error {
		items, err := w.items(t.Context(), "news")
		if err != nil {
			return err
		}
		return hasFailed("press", 1)(&items[0])
	})
	if passed := w.clock.Now().Sub(began); passed < 5600*time.Millisecond {
		t.Errorf("given up for now after %s, want 1 + 2 + 4 s by a factor of 0.8 at least", passed)
	}
	item := w.untilItem("news", hasFailed("press", 1))
	if item.Status.Deliveries[0].State != v1alpha1.DeliveryQueued {
		t.Errorf("delivery %+v", item.Status.Deliveries[0])
	}
}

// R3.3: the manager that stops writes down what has failed instead of waiting for its repetition.
func TestAStopDoesNotWaitForARepetition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repeating)
	server := w.mastodon()
	net := newNetwork(t, server)
	w.openDestination("press", net.URL)
	net.cut()
	w.oneItem("press")
	w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent))
	w.stop()
	items, err := w.items(context.WithoutCancel(t.Context()), "news")
	if err = errors.Join(err, hasFailed("press", 1)(&items[0])); err != nil {
		t.Error(err)
	}
}
