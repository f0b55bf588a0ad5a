// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

// scripted is a provider that fails as it is told, and counts who has asked.
type scripted struct {
	mu    sync.Mutex
	asked map[string]int
	total int
	fails func(provider.Request) error
}

func (s *scripted) Generate(ctx context.Context, request provider.Request) (provider.Response, error) {
	s.mu.Lock()
	s.asked[request.URL]++
	s.total++
	fails := s.fails
	s.mu.Unlock()
	if err := fails(request); err != nil {
		return provider.Response{}, err
	}
	return extractive.New().Generate(ctx, request)
}

// now sets how it fails from now on, and returns who has asked before, and how often.
func (s *scripted) now(fails func(provider.Request) error) (asked map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked = s.asked
	s.asked, s.total, s.fails = map[string]int{}, 0, fails
	return asked
}

// askedBy checks that n items have asked, each once.
func (s *scripted) askedBy(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for url, times := range s.asked {
		if times != 1 {
			return fmt.Errorf("%s was tried %d times", url, times)
		}
	}
	if len(s.asked) != n {
		return fmt.Errorf("%d items were tried, want %d", len(s.asked), n)
	}
	return nil
}

func (s *scripted) atLeast(n int) func() error {
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.total < n {
			return fmt.Errorf("it was asked %d times, want %d", s.total, n)
		}
		return nil
	}
}

func refuses(provider.Request) error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, "It does not like the request.")
}

func breaks(provider.Request) error {
	return failure.New(v1alpha1.CategoryAPI, "Internal", "It is broken.")
}

func works(provider.Request) error { return nil }

// failedWorld is a world whose AIProvider "writer" does what the test says, with n items that it has
// failed.
func failedWorld(t *testing.T, n int, fails func(provider.Request) error, check func([]v1alpha1.FeedItem) error) (*world, *scripted) {
	t.Helper()
	script := &scripted{}
	script.now(fails)
	w := newWorld(t, func(w *world) { w.builtin = script })
	w.provider("writer", func(*v1alpha1.AIProvider) {})
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"))
	w.awaitItems("news", check)
	return w, script
}

// writes counts the writes of the operator, by item.
type writes struct {
	mu sync.Mutex
	by map[string]int
}

func (w *world) countItemWrites() *writes {
	counted := &writes{by: map[string]int{}}
	w.onItemWrites(func(r *http.Request, _ string) *metav1.Status {
		counted.mu.Lock()
		defer counted.mu.Unlock()
		counted.by[r.URL.Path]++
		return nil
	})
	return counted
}

// each checks that so many items were written, each once.
func (c *writes) each(items int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, times := range c.by {
		if times != 1 {
			return fmt.Errorf("%s was written %d times", path, times)
		}
	}
	if len(c.by) != items {
		return fmt.Errorf("%d items were written, want %d", len(c.by), items)
	}
	return nil
}

// retryAll annotates a source, a provider or a destination.
func (w *world) retryAll(object client.Object, name, token string) {
	w.t.Helper()
	object.SetNamespace(w.namespace)
	object.SetName(name)
	w.annotate(object, v1alpha1.AnnotationRetry, token)
}

func allFailed(n int) func([]v1alpha1.FeedItem) error {
	return eachOf(n, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration))
}

// R3.7: a thousand items that have failed at a provider are retried by one annotation, also when the
// operator is stopped in the middle: each once, with no write but that of its attempt. The same token
// never fires again.
func TestAThousandItemsAreRetriedByOneAnnotation(t *testing.T) {
	t.Parallel()
	n := portion.Of(1000, 24)
	w, script := failedWorld(t, n, refuses, allFailed(n))
	counted := w.countItemWrites()
	script.now(refuses)
	w.retryAll(&v1alpha1.AIProvider{}, "writer", "monday")
	await(t, script.atLeast(n/3))
	w.restart()
	w.clock.Step(3 * time.Second) // a new operator looks at the time
	await(t, script.atLeast(n))
	released := w.releasedAt("writer")
	items := w.awaitItems("news", eachOf(n, func(item *v1alpha1.FeedItem) error {
		if item.Status.LastFailureTime.Time.Before(released) {
			return errNotYet
		}
		return inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration)(item)
	}))
	if err := errors.Join(script.askedBy(n), counted.each(n)); err != nil {
		t.Error(err)
	}
	for i := range items {
		if items[i].Status.RetryCount != 0 || items[i].Status.ProviderFailures[0].Count != 1 {
			t.Errorf("%s has not begun anew: %+v", items[i].Name, items[i].Status)
		}
	}

	w.restart()
	w.retryAll(&v1alpha1.AIProvider{}, "writer", "monday")
	w.poll("news")
	if err := script.askedBy(n); err != nil {
		t.Errorf("the same token fires again: %v", err)
	}
}

// releasedAt is when a retry of all that had failed at a provider was asked for last.
func (w *world) releasedAt(name string) time.Time {
	w.t.Helper()
	var found v1alpha1.AIProvider
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &found); err != nil {
		w.t.Fatal(err)
	}
	if found.Status.RetryRequestedTime == nil {
		return time.Time{}
	}
	return found.Status.RetryRequestedTime.Time
}

// R3.7: the annotation closes the circuit of a provider and ends its pauses; the waiting time of the
// items is ignored, and those that had not been tried go on.
func TestARetryClosesTheCircuitOfAProvider(t *testing.T) {
	t.Parallel()
	const n = 12
	w, script := failedWorld(t, n, breaks, hasItems(n))
	w.untilProvider("writer", isNotReady(v1alpha1.ReasonCircuitOpen))
	asked := script.now(works)
	w.awaitItems("news", eachOf(n, func(item *v1alpha1.FeedItem) error { // what has failed is written down: else it fails after the retry, which is not for it
		if item.Status.Reason == v1alpha1.ReasonNone && asked[item.Spec.URL] > 0 {
			return errNotYet
		}
		return nil
	}))
	w.clock.Step(time.Second) // nor is it for what fails in the same second
	w.retryAll(&v1alpha1.AIProvider{}, "writer", "1")
	w.awaitItems("news", allProcessed(n))
	described := w.untilProvider("writer", isReady)
	if stands := described.Status.Availability; stands.State != "Ready" || stands.Failures != 0 || described.Status.LastHandledRetry != "1" {
		t.Errorf("availability %+v, last token %q", stands, described.Status.LastHandledRetry)
	}
	if err := script.askedBy(n); err != nil {
		t.Error(err)
	}
}

// R3.7: so with a spent quota that would have lasted for hours, and with a provider that is suspended:
// then the token acts when that ends.
func TestARetryOfASuspendedProviderActsWhenThatEnds(t *testing.T) {
	t.Parallel()
	quota := failure.New(v1alpha1.CategoryRateLimit, failure.TypeUnsupported, "The quota is spent.")
	quota.Quota = true
	w, script := failedWorld(t, 1, func(provider.Request) error { return quota }, hasItems(1))
	described := w.untilProvider("writer", isNotReady(v1alpha1.ReasonQuotaSpent))
	w.awaitItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed))
	w.suspend(described.DeepCopy(), true)
	w.untilProvider("writer", isNotReady(v1alpha1.ReasonSuspended))
	script.now(works)
	w.retryAll(&v1alpha1.AIProvider{}, "writer", "1")
	w.untilProvider("writer", func(p *v1alpha1.AIProvider) error {
		if p.Status.LastHandledRetry != "1" {
			return errNotYet
		}
		return nil
	})
	w.restart()
	if err := script.askedBy(0); err != nil {
		t.Error(err)
	}
	w.suspend(described.DeepCopy(), false)
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// R3.7: all deferred and failed items of a source; those of another are left alone, and so is what is done.
func TestARetryOfASource(t *testing.T) {
	t.Parallel()
	const n = 20
	w := newWorld(t)
	var mend []func()
	for _, name := range []string{"news", "other"} {
		web := feedtest.New(t)
		web.List(web.Entries(name, n)...)
		mend = append(mend, failing(web))
		w.source(name, web.FeedURL())
		w.awaitItems(name, eachOf(n, inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed)))
	}
	counted := w.countItemWrites()
	w.retryAll(&v1alpha1.FeedSource{}, "news", "1") // in vain
	w.awaitItems("news", eachOf(n, func(item *v1alpha1.FeedItem) error {
		if item.Status.RetryCount != 1 {
			return fmt.Errorf("%d retries", item.Status.RetryCount)
		}
		return inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed)(item)
	}))
	if err := counted.each(n); err != nil {
		t.Error(err)
	}
	for _, m := range mend {
		m()
	}
	w.restart()
	w.retryAll(&v1alpha1.FeedSource{}, "news", "1")
	w.poll("news")
	if err := counted.each(n); err != nil {
		t.Errorf("the same token fires again: %v", err)
	}
	w.retryAll(&v1alpha1.FeedSource{}, "news", "2")
	w.awaitItems("news", allProcessed(n))
	w.awaitItems("other", eachOf(n, inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed)))
	source := w.untilSource("news", func(*v1alpha1.FeedSource) error { return nil })
	if source.Status.LastHandledRetry != "2" || source.Status.RetryRequestedTime == nil {
		t.Errorf("status %+v", source.Status)
	}
}

// R3.7: posts that were given up at a destination, and posts that wait; those that were made stay.
func TestARetryOfADestination(t *testing.T) {
	t.Parallel()
	const n = 10
	w := newWorld(t)
	server, other := w.mastodon(), w.mastodon()
	refused := true
	var mu sync.Mutex
	server.OnPost(func(p *mastodontest.Pending) bool {
		mu.Lock()
		defer mu.Unlock()
		if refused {
			p.Answer(http.StatusUnprocessableEntity, "application/json", `{"error":"Validation failed"}`)
		}
		return refused
	})
	w.openDestination("press", server.URL)
	w.openDestination("other", other.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press", "other"))
	w.awaitItems("news", eachOf(n, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration)))
	tried := server.Count("POST /api/v1/statuses")
	w.retryAll(&v1alpha1.FeedDestination{}, "press", "1")
	await(t, func() error {
		if server.Count("POST /api/v1/statuses") < tried+n {
			return errNotYet
		}
		return nil
	})
	w.awaitItems("news", eachOf(n, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration)))
	w.restart()
	w.poll("news")
	if got := server.Count("POST /api/v1/statuses"); got != tried+n {
		t.Errorf("%d posts were tried for one token, want %d", got-tried, n)
	}
	mu.Lock()
	refused = false
	mu.Unlock()
	w.retryAll(&v1alpha1.FeedDestination{}, "press", "2")
	w.awaitItems("news", allProcessed(n))
	if got := server.Count("POST /api/v1/statuses"); got != tried+2*n || len(server.Posts()) != n || len(other.Posts()) != n {
		t.Errorf("%d posts tried, %d and %d made", got, len(server.Posts()), len(other.Posts()))
	}
}

// R4.4: a retry of a destination posts nothing again of which nobody knows whether it was published.
func TestARetryOfADestinationRepeatsNoUncertainPost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(both(ignoresKeys, writeOnly))
	server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
	w.openDestination("press", server.URL)
	w.oneItem("press")
	before := w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(&before); err != nil {
		t.Fatal(err)
	}
	server.OnPost(nil)
	w.retryAll(&v1alpha1.FeedDestination{}, "press", "1")
	w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
		if item.ResourceVersion == before.ResourceVersion {
			return errNotYet
		}
		return inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(item)
	})
	if posts := len(server.Posts()); posts != 1 {
		t.Errorf("%d posts of one item", posts)
	}
}

// R3.7: `kubectl annotate feeditems --all`: each item is tried once for a token.
func TestAllItemsAreAnnotatedAtOnce(t *testing.T) {
	t.Parallel()
	n := portion.Of(300, 20)
	w, script := failedWorld(t, n, refuses, allFailed(n))
	annotateAll := func(items []v1alpha1.FeedItem, token string) {
		for i := range items {
			w.retry(items[i].Name, token)
		}
	}
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	script.now(refuses)
	annotateAll(items, "1")
	await(t, script.atLeast(n))
	w.awaitItems("news", eachOf(n, func(item *v1alpha1.FeedItem) error {
		if item.Status.LastHandledRetry != "1" {
			return errNotYet
		}
		return inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration)(item)
	}))
	annotateAll(items, "1")
	w.restart()
	w.poll("news")
	if err := script.askedBy(n); err != nil {
		t.Error(err)
	}
}
