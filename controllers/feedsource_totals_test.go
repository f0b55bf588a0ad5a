// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// hasCome checks how many items of a source there are, and how many have ended since it was created.
func hasCome(there v1alpha1.ItemCounts, succeeded, failed int64) func(*v1alpha1.FeedSource) error {
	want := v1alpha1.ItemTotals{Processed: succeeded + failed, Succeeded: succeeded, Failed: failed}
	return func(source *v1alpha1.FeedSource) error {
		if source.Status.Items != there || source.Status.Totals != want {
			return fmt.Errorf("it has %+v of %+v, want %+v of %+v", source.Status.Items, source.Status.Totals, there, want)
		}
		return nil
	}
}

// deleteItem has a person delete the item about an entry.
func (w *world) deleteItem(source, title string) {
	w.t.Helper()
	items, err := w.items(w.t.Context(), source)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range items {
		if strings.HasSuffix(items[i].Spec.Title, title) {
			if err := w.client.Delete(w.t.Context(), &items[i]); err != nil {
				w.t.Fatal(err)
			}
			return
		}
	}
	w.t.Fatalf("there is no item about %s", title)
}

// R5.2: what has ended stays counted when retention or a person removes it, also by the next process. What has failed and is tried again is
// counted as what it ends as. A source that is made again by the same name begins at nothing.
func TestTotalsOutliveTheItems(t *testing.T) {
	t.Parallel()
	web, late := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 4)...)
	late.List(late.Entries("late", 3)...)
	mend := failing(late)
	w := newWorld(t)
	news := w.source("news", web.FeedURL(), keepMost(100))
	w.source("late", late.FeedURL(), triedAgain(0))
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 4}, 4, 0))
	w.untilCounted("late", hasCome(v1alpha1.ItemCounts{Failed: 3}, 0, 3))

	w.untilUpToDate()
	w.change(news, `{"spec":{"retention":{"keepMost":2}}}`)
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 2}, 4, 0))
	w.deleteItem("news", "news-4")
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 1}, 4, 0))
	w.deleteItem("late", "late-1")
	w.untilCounted("late", hasCome(v1alpha1.ItemCounts{Failed: 2}, 0, 3))

	w.restart()
	web.List(append(web.Entries("more", 1), web.Entries("news", 4)...)...)
	w.poll("news")
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 2}, 5, 0))
	mend()
	w.retryAll(&v1alpha1.FeedSource{}, "late", "again")
	w.untilCounted("late", hasCome(v1alpha1.ItemCounts{Processed: 2}, 2, 1))

	if err := w.client.Delete(t.Context(), news); err != nil {
		t.Fatal(err)
	}
	web.List(web.Entries("fresh", 2)...)
	w.source("news", web.FeedURL())
	w.untilCounted("news", func(source *v1alpha1.FeedSource) error {
		if got := source.Status.Totals; got.Processed != int64(source.Status.Items.Processed) || got.Processed == 0 {
			return fmt.Errorf("it has %+v of %+v", source.Status.Items, got)
		}
		return nil
	})
}

// R5.2: the report that items are gone is written, and the API server's answer to that gets lost. They are counted once, also by the next process.
func TestRemovedItemsAreCountedOnceThoughTheAnswerToTheReportIsLost(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), rarely)
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 3}, 3, 0))
	w.restart()
	w.poll(w.marker())
	lost := w.loseReport("feedsources", `"items"`)
	w.deleteItem("news", "news-1")
	w.deleteItem("news", "news-2")
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 1}, 3, 0))
	if lost.Load() != 1 {
		t.Errorf("%d answers were lost", lost.Load())
	}
	w.restart()
	w.poll(w.marker())
	w.deleteItem("news", "news-3")
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{}, 3, 0))
}

// R5.2: items that are removed less than a minute after the counts were written are counted when the operator stops.
func TestWhatIsRemovedBeforeAStopIsCounted(t *testing.T) {
	t.Parallel()
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	other.List(other.Entries("other", 2)...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), rarely)
	w.source("other", other.FeedURL(), rarely)
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 3}, 3, 0))
	w.untilCounted("other", hasCome(v1alpha1.ItemCounts{Processed: 2}, 2, 0))
	w.clock.Step(2 * time.Minute)
	w.deleteItem("news", "news-1")
	w.untilLooked("news", hasCome(v1alpha1.ItemCounts{Processed: 2}, 3, 0)) // the next report may come in a minute

	w.deleteItem("news", "news-2")
	w.deleteItem("other", "other-1")
	w.untilLooked("other", hasCome(v1alpha1.ItemCounts{Processed: 1}, 2, 0)) // what happened before is known, too
	w.untilSource("news", hasCome(v1alpha1.ItemCounts{Processed: 2}, 3, 0))
	w.stop()
	w.untilSource("news", hasCome(v1alpha1.ItemCounts{Processed: 1}, 3, 0))
	w.start()
	w.poll(w.marker())
	w.deleteItem("news", "news-3")
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{}, 3, 0))
}

// R5.2: an operator is deposed and does not know it yet, and another one counts what is removed, also before this one. It does not count it
// again, and takes nothing back, neither while it works nor when it stops.
func TestWhatAnotherOperatorHasCountedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 4)...)
	other.List(other.Entries("other", 3)...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), rarely)
	w.source("other", other.FeedURL(), rarely)
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 4}, 4, 0))
	w.untilCounted("other", hasCome(v1alpha1.ItemCounts{Processed: 3}, 3, 0))
	w.clock.Step(2 * time.Minute)
	w.deleteItem("news", "news-1")
	counted := w.untilLooked("news", hasCome(v1alpha1.ItemCounts{Processed: 3}, 4, 0))

	w.deleteItem("news", "news-2")
	w.deleteItem("other", "other-1")
	w.untilLooked("other", hasCome(v1alpha1.ItemCounts{Processed: 2}, 3, 0)) // it knows of both
	before := counted.DeepCopy()
	counted.Status.Items.Processed = 2
	counted.Status.Totals = v1alpha1.ItemTotals{Processed: 9, Succeeded: 9} // of five more it has never heard
	if err := w.client.Status().Patch(t.Context(), counted, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(2 * time.Minute)
	w.deleteItem("news", "news-3")
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 1}, 9, 0))
	w.restart()
	w.poll(w.marker())
	w.deleteItem("news", "news-4")
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{}, 9, 0))
}

// untilLooked looks at a source again and again, without time passing, until it passes a check.
func (w *world) untilLooked(name string, check func(*v1alpha1.FeedSource) error) *v1alpha1.FeedSource {
	w.t.Helper()
	return w.untilSource(name, func(source *v1alpha1.FeedSource) error {
		w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
		return check(source)
	})
}

// R5.2, R1.3: totals cost no write of their own. What an unchanged feed has come to is not written again, nor when the operator stops.
func TestTotalsCostNoWrite(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w := newWorld(t)
	w.source("news", web.FeedURL())
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 3}, 3, 0))
	written := w.countKinds()
	w.deleteItem("news", "news-1")
	w.deleteItem("news", "news-2")
	before := w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 1}, 3, 0))
	if got := written.of("PATCH feedsources"); got > 2 { // the second may have been heard of after the first was told
		t.Errorf("%d writes for two items that were removed", got)
	}
	for range 2 {
		w.untilPolled("news", web)
		w.restart()
		w.poll(w.marker())
	}
	w.untilSource("news", func(after *v1alpha1.FeedSource) error {
		if after.ResourceVersion != before.ResourceVersion {
			t.Errorf("the source was written: %+v", after.Status)
		}
		return nil
	})
}

// writeAs has another operator write what there is of a source, and waits until this one has heard of it.
func (w *world) writeAs(source *v1alpha1.FeedSource, there v1alpha1.ItemCounts, succeeded int64) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
		w.t.Fatal(err)
	}
	before := source.DeepCopy()
	source.Status.Format, source.Status.Items = "rss", there
	source.Status.Totals = v1alpha1.ItemTotals{Processed: succeeded, Succeeded: succeeded}
	if err := w.client.Status().Patch(w.t.Context(), source, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	w.untilUpToDate()
}

// R5.2: an operator that stops late, when another one has counted already, leaves the items to that one, and adds what it alone has heard of: that one is gone.
func TestAStopAddsWhatIsGoneToWhatAnotherHasCounted(t *testing.T) {
	t.Parallel()
	for name, counted := range map[string]bool{"after it has counted itself": true, "before its first report": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			web.List(web.Entries("news", 2)...)
			w := newWorld(t)
			held := make(chan struct{})
			goOn := sync.OnceFunc(func() { close(held) })
			t.Cleanup(goOn)
			web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if !counted && r.URL.Path == "/articles/news-2" {
					<-held
				}
				return false
			})
			source := w.source("news", web.FeedURL(), rarely, func(source *v1alpha1.FeedSource) {
				source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage}
			})
			if counted {
				w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 2}, 2, 0))
			} else {
				w.untilItems("news", func(items []v1alpha1.FeedItem) error {
					for i := range items {
						if items[i].Status.Phase == v1alpha1.PhaseProcessed {
							return nil
						}
					}
					return errNotYet
				})
			}
			w.deleteItem("news", "news-1")
			w.untilUpToDate()
			there := v1alpha1.ItemCounts{Processed: 4, Pending: 1}
			w.writeAs(source, there, 4)
			goOn()
			w.stop()
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
				t.Fatal(err)
			}
			if err := hasCome(there, 5, 0)(source); err != nil {
				t.Error(err)
			}
		})
	}
}
