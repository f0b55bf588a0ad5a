// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers/retention"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// keepMost bounds the finished items of a source.
func keepMost(n int32) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) {
		source.Spec.Retention = &v1alpha1.RetentionPolicy{KeepLast: new(int32(0)), KeepMost: new(n)}
	}
}

// retention removes finished items by a clock, when it is asked to.
func (w *world) retention(now clock.PassiveClock) *retention.Reconciler {
	places := schedule.New(clock.RealClock{}, func(string) {}, nil)
	places.Configure(queue.RetentionPlaces, queue.LimitOfRetention)
	places.Open()
	return &retention.Reconciler{Clock: now, Client: w.manager.GetClient(), Live: w.manager.GetAPIReader(), Schedule: places}
}

// retain has the finished items of a source looked through, again and again, until so many are left.
func (w *world) retain(source *v1alpha1.FeedSource, left int) {
	w.t.Helper()
	retention := w.retention(apiTime{w.clock, &w.ahead})
	apitest.Eventually(w.t, func(ctx context.Context) error {
		if _, err := retention.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(source)}); err != nil {
			return err
		}
		items, err := w.items(ctx, source.Name)
		return errors.Join(err, hasItems(left)(items))
	})
}

// R2.10, R1.10: of finished items only so many are kept, however new they are. The oldest of those that went well go
// first, then the oldest that failed; what is not finished stays and is not counted; and none comes again.
func TestOnlySoManyFinishedItemsAreKept(t *testing.T) {
	t.Parallel()
	const listed = 9
	failing := []string{"/articles/news-1", "/articles/news-2", "/articles/news-8"} // for good, at once
	waiting := []string{"/articles/news-3"}
	web := feedtest.New(t)
	web.List(web.Entries("news", listed)...)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if slices.Contains(failing, r.URL.Path) || slices.Contains(waiting, r.URL.Path) {
			http.NotFound(rw, r)
			return true
		}
		return false
	})
	w := newWorld(t)
	created := w.creations()
	source := w.source("news", web.FeedURL(), keepMost(100), func(source *v1alpha1.FeedSource) {
		source.Spec.Retry = &v1alpha1.RetryPolicy{MaxRetries: new(int32(0))}
	})
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		phases := map[v1alpha1.Phase]int{}
		for i := range items {
			phases[items[i].Status.Phase]++
		}
		if phases[v1alpha1.PhaseProcessed] != 5 || phases[v1alpha1.PhaseFailed] != 4 {
			return fmt.Errorf("%v", phases)
		}
		return nil
	})
	w.change(source, `{"spec":{"retry":{"maxRetries":5}}}`)
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		if items[i].Spec.Title == "News about news-3" { // is tried again, and waits
			w.retry(items[i].Name, "again")
		}
	}
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if items[i].Status.Phase == v1alpha1.PhaseDeferred {
				return nil
			}
		}
		return errNotYet
	})

	for _, step := range []struct {
		most int32
		want []string
	}{
		{8, newsAbout("news", 1, 2, 3, 4, 5, 6, 7, 8, 9)}, // one of nine is not finished
		{5, newsAbout("news", 1, 2, 3, 7, 8, 9)},
		{3, newsAbout("news", 1, 2, 3, 8)},
		{1, newsAbout("news", 3, 8)},
	} {
		w.untilUpToDate()
		w.change(source, fmt.Sprintf(`{"spec":{"retention":{"keepMost":%d}}}`, step.most))
		if diff := cmp.Diff(step.want, titles(w.untilItems("news", hasItems(len(step.want))))); diff != "" {
			t.Errorf("keeping %d: %s", step.most, diff)
		}
	}
	web.List(append(web.Entries("fresh", 1), web.Entries("news", listed)...)...)
	w.poll("news")
	if diff := cmp.Diff(append(newsAbout("fresh", 1), newsAbout("news", 1, 2, 3, 4, 5, 6, 7, 8, 9)...), created()); diff != "" {
		t.Errorf("what was removed has come again: %s", diff)
	}
}

// R2.10, R1.2: an item whose entry is not remembered, because the poll that made it was cut off, is not removed: the next
// poll would make it again, and post it again.
func TestWhatIsNotRememberedIsNotRemoved(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 4)...)
	w := newWorld(t)
	created := w.creations()
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/feedmemories") {
			return nil
		}
		return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}
	})
	source := w.source("news", web.FeedURL(), keepMost(1))
	w.untilItems("news", allProcessed(4))
	w.untilUpToDate()
	w.retain(source, 4)
	w.crash()
	w.poll("news")
	w.retain(source, 1)
	w.poll("news")
	if diff := cmp.Diff(newsAbout("news", 1, 2, 3, 4), created()); diff != "" {
		t.Errorf("created: %s", diff)
	}
}

// R2.10: an item that is never remembered, of a source whose memory somebody has deleted, goes too.
func TestWhatIsNeverRememberedIsRemovedInTheEnd(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 4)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), keepMost(100), rarely)
	w.untilItems("news", allProcessed(4))
	w.untilRemembered(1)
	w.change(source, `{"spec":{"suspend":true}}`)
	w.untilSource("news", saysOf(v1alpha1.ReasonSuspended))
	w.deleteMemories()
	w.change(source, `{"spec":{"retention":{"keepMost":1}}}`)
	w.untilUpToDate()
	w.retain(source, 4)
	w.clock.Step(7*24*time.Hour + time.Minute)
	w.retain(source, 0)
}

// R2.10, R3.7: what has failed is kept however old it is once somebody has asked for another try, until that was made: most often
// nothing on the item says so.
func TestWhatIsToBeTriedAgainIsNotRemoved(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	mend := failing(web)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), triedAgain(0), keepMost(100), rarely)
	w.untilItems("news", eachOf(3, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)))
	w.change(source, `{"spec":{"suspend":true}}`) // so that their turn is far away
	w.untilSource("news", saysOf(v1alpha1.ReasonSuspended))
	w.retryAll(source, "news", "again")
	w.clock.Step(31 * 24 * time.Hour)
	w.untilUpToDate()
	w.retain(source, 3)
	mend()
	w.change(source, `{"spec":{"suspend":false}}`)
	w.untilItems("news", allProcessed(3))
	w.clock.Step(31 * 24 * time.Hour)
	w.untilUpToDate()
	w.retain(source, 0)
}
