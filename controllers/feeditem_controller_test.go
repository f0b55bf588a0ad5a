// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R1.1, R2.1, R2.5, R2.9
func TestAnEntryBecomesASummary(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("plan", 3)...)
	w := newWorld(t)
	w.source("news", web.FeedURL())

	for _, item := range w.untilItems("news", allProcessed(3)) {
		summary := item.Status.Summary
		if !strings.HasSuffix(summary.Text, ".") || strings.Contains(summary.Text, "Home >") {
			t.Errorf("summary %q is not made of whole sentences", summary.Text)
		}
		checkRules(t, 0, 0, item.Status.Conditions)
		if item.Status.LastCheckTime == nil {
			t.Error("no last check time") // R2.7
		}
	}
}

// failing makes every article answer 404, as before it is published, until it is told to stop.
func failing(web *feedtest.Server) (mend func()) {
	var mended atomic.Bool
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if mended.Load() || !strings.HasPrefix(r.URL.Path, "/articles/") {
			return false
		}
		http.NotFound(rw, r)
		return true
	})
	return func() { mended.Store(true) }
}

// R2.5, R3.1, R3.4, R3.5: an article that cannot be fetched is tried again at the promised times,
// also by another process, and no earlier.
func TestAFailedItemIsTriedAgainUntilItsRetriesAreUsedUp(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("late", 1)...)
	failing(web)
	w := newWorld(t)
	w.source("news", web.FeedURL())

	for attempt := range int32(6) {
		item := w.untilItem("news", func(item *v1alpha1.FeedItem) error {
			if item.Status.FirstFailureTime == nil || item.Status.RetryCount != attempt {
				return fmt.Errorf("retry count %d, want %d", item.Status.RetryCount, attempt)
			}
			return nil
		})
		if got := web.Hits("/articles/late-1"); got != int(attempt)+1 {
			t.Fatalf("%d requests after attempt %d", got, attempt+1)
		}
		if attempt == 5 {
			break
		}
		if err := inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed)(item); err != nil {
			t.Fatal(err)
		}
		failure := item.Status.Failure
		if failure.Category != v1alpha1.CategoryValidation || failure.HTTPStatus != 404 || failure.Stage != v1alpha1.StageArticle || !failure.Retryable {
			t.Errorf("failure %+v", failure)
		}
		if attempt == 2 {
			w.restart()
		}
		w.clock.SetTime(item.Status.NextRetryTime.Add(-time.Second))
		w.lookAt("item", client.ObjectKeyFromObject(item))
		w.poll("news") // gives a wrong attempt the time to happen
		if got := web.Hits("/articles/late-1"); got != int(attempt)+1 {
			t.Fatalf("attempt %d was made early", attempt+2)
		}
		w.clock.SetTime(item.Status.NextRetryTime.Time)
	}
	w.untilItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded))
}

// R3.7: on a deferred item.
func TestTheRetryAnnotationOverridesTheWaitOnce(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("late", 1)...)
	failing(web)
	w := newWorld(t)
	w.source("news", web.FeedURL())
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))

	retried := func(token string, count int32) func(*v1alpha1.FeedItem) error {
		return func(item *v1alpha1.FeedItem) error {
			if item.Status.LastHandledRetry != token || item.Status.RetryCount != count {
				return fmt.Errorf("handled %q with %d retries, want %q with %d", item.Status.LastHandledRetry, item.Status.RetryCount, token, count)
			}
			return nil
		}
	}
	w.retry(item.Name, "1")
	item = w.untilItem("news", retried("1", 1)) // its failure counts, and sets the next time
	if item.Status.NextRetryTime.Sub(w.clock.Now()) < 10*time.Minute {
		t.Errorf("next retry at %s, now is %s", item.Status.NextRetryTime, w.clock.Now())
	}

	w.retry(item.Name, "1") // the same token again
	w.lookAt("item", client.ObjectKeyFromObject(item))
	w.restart()
	w.poll("news")
	w.retry(item.Name, "2")
	w.untilItem("news", retried("2", 2))
	if got := web.Hits("/articles/late-1"); got != 3 {
		t.Errorf("%d attempts, want 3: the first, and one for each token", got)
	}
	if item.Annotations[v1alpha1.AnnotationRetry] == "" {
		t.Error("the annotation was removed")
	}
}

// R3.7: on a failed item; and a success ends it.
func TestTheRetryAnnotationRevivesAFailedItem(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("late", 1)...)
	mend := failing(web)
	w := newWorld(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Retry = &v1alpha1.RetryPolicy{MaxRetries: new(int32(1))}
	})
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
	w.clock.SetTime(item.Status.NextRetryTime.Time)
	w.untilItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded))

	w.retry(item.Name, "a") // fails again: the whole budget is back, so it is deferred
	item = w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
	if item.Status.RetryCount != 0 {
		t.Errorf("retry count %d", item.Status.RetryCount)
	}
	mend()
	w.retry(item.Name, "b")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	hits := web.Hits("/articles/late-1")

	w.retry(item.Name, "c") // on a delivered one nothing happens, but the token is noted
	w.untilItem("news", func(item *v1alpha1.FeedItem) error {
		if item.Status.LastHandledRetry != "c" {
			return errors.New("token not noted")
		}
		return inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(item)
	})
	if got := web.Hits("/articles/late-1"); got != hits {
		t.Errorf("a processed item was worked on: %d requests, were %d", got, hits)
	}
}

// R2.8: what was done is written down although the item has changed meanwhile.
func TestAnnotationsSetDuringTheWorkMakeNoWorkBeDoneTwice(t *testing.T) {
	t.Parallel()
	n := portion.Of(500, 60)
	web := feedtest.New(t)
	web.List(web.Entries("busy", n)...)
	w := newWorld(t)
	counted := &counting{Provider: w.builtin}
	w.stop()
	w.builtin = counted
	var uid atomic.Value
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if name := path.Base(r.URL.Path); strings.HasPrefix(name, "busy-") {
			entry := feed.Entry{GUID: "tag:" + name}
			w.retry(feed.ItemName("news", uid.Load().(string), entry, feed.Trust{}), "now")
		}
		return false
	})
	source := w.source("news", web.FeedURL())
	uid.Store(string(source.UID))
	w.start()

	items := w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		noted := 0
		for i := range items {
			if items[i].Status.LastHandledRetry != "" {
				noted++
			}
		}
		if noted < len(items) {
			return fmt.Errorf("%d tokens of %d are noted", noted, len(items))
		}
		return allProcessed(n)(items)
	})
	for _, item := range items {
		if got := web.Hits("/articles/" + path.Base(item.Spec.URL)); got != 1 {
			t.Errorf("%s was fetched %d times", item.Spec.URL, got)
		}
	}
	if got := counted.calls.Load(); got != int64(n) {
		t.Errorf("%d summaries were asked for, want %d", got, n)
	}
}

// counting counts the requests to a provider.
type counting struct {
	provider.Provider
	calls atomic.Int64
}

func (c *counting) Generate(ctx context.Context, request provider.Request) (provider.Response, error) {
	c.calls.Add(1)
	return c.Provider.Generate(ctx, request)
}

// R3.12: what is missing is waited for; it costs no retry, and shows on the item.
func TestAnItemWaitsForAProviderThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("plan", 1)...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "writer"}}
	})
	item := w.untilItem("news", inPhase(v1alpha1.PhaseUnprocessed, v1alpha1.ReasonWaiting))
	if message := readyMessage(item); !strings.Contains(message, `"writer"`) || !strings.Contains(message, "does not exist") {
		t.Errorf("the item says %q", message)
	}
	if web.Hits("/articles/plan-1") != 0 {
		t.Error("the article was fetched in vain")
	}
	w.provider("writer", func(*v1alpha1.AIProvider) {})
	item = w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if item.Status.RetryCount != 0 || item.Status.FirstFailureTime != nil || item.Status.Summary.Provider != "writer" {
		t.Errorf("status %+v", item.Status)
	}
}

// R3.12
func TestASuspendedProviderIsWaitedFor(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("plan", 1)...)
	w := newWorld(t)
	w.provider("writer", func(p *v1alpha1.AIProvider) { p.Spec.Suspend = true })
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "writer"}}
	})
	w.untilItem("news", inPhase(v1alpha1.PhaseUnprocessed, v1alpha1.ReasonWaiting))
	w.resume("writer")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// resume ends the suspension of a provider.
func (w *world) resume(name string) {
	w.t.Helper()
	suspended := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))
	if err := w.client.Patch(w.t.Context(), suspended, patch); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) provider(name string, change func(*v1alpha1.AIProvider)) *v1alpha1.AIProvider {
	w.t.Helper()
	writer := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	writer.Spec.Extractive = &v1alpha1.ExtractiveProvider{}
	change(writer)
	if err := w.client.Create(w.t.Context(), writer); err != nil {
		w.t.Fatal(err)
	}
	return writer
}

func readyMessage(item *v1alpha1.FeedItem) string {
	for _, condition := range item.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady {
			return condition.Message
		}
	}
	return ""
}

// R2.5
func TestAnArticleThatIsTooLargeIsSkipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hugeArticle("news")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonLargeFileSkipped))
}

// hugeArticle makes a source with one article that is larger than the source allows.
func (w *world) hugeArticle(name string) *v1alpha1.FeedSource {
	w.t.Helper()
	web := feedtest.New(w.t)
	web.List(web.Entries("huge", 1)...)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/articles/huge-1" {
			return false
		}
		_, _ = rw.Write([]byte("<html><body><p>" + strings.Repeat("Much. ", 1000)))
		return true
	})
	return w.source(name, web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Article = &v1alpha1.ArticlePolicy{MaxBytes: new(int64(2048))}
	})
}

// R2.5
func TestAPageWithoutAnArticleIsWaitedFor(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("soon", 1)...)
	var ready atomic.Bool
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/articles/soon-1" || ready.Load() {
			return false
		}
		_, _ = rw.Write([]byte("<html><body><nav>Home</nav><p>Coming soon</p></body></html>"))
		return true
	})
	w := newWorld(t)
	w.source("news", web.FeedURL())
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonPageNotReady))
	ready.Store(true)
	w.clock.SetTime(item.Status.NextRetryTime.Time)
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// R2.5: the feed's own content.
func TestALongEntryNeedsNoPage(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("whole", 1)
	entries[0].Content = "<p>" + strings.Repeat("The committee met on Tuesday and agreed on a new plan for the year. ", 30) + "</p>"
	web.List(entries...)
	w := newWorld(t)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(1))
	if web.Hits("/articles/whole-1") != 0 {
		t.Error("the page was fetched although the feed has the article")
	}
}

// R2.11
func TestAnItemWithUnreadableContentFailsAndOthersGoOn(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("fine", 1)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(1))

	broken := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "broken"}}
	broken.Spec = v1alpha1.FeedItemSpec{
		SourceRef: v1alpha1.SourceReference{Name: source.Name, UID: source.UID}, CompressedContent: "bm90IGd6aXA=",
	}
	if err := w.client.Create(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if items[i].Name == "broken" {
				return inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidContent)(&items[i])
			}
		}
		return errors.New("the item is gone")
	})
	web.List(web.Entries("more", 2)...)
	w.poll("news")
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		processed := 0
		for i := range items {
			if items[i].Status.Phase == v1alpha1.PhaseProcessed {
				processed++
			}
		}
		if processed != 3 {
			return fmt.Errorf("%d processed, want 3", processed)
		}
		return nil
	})
}

// R3.13
func TestAHostThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release) // before the servers are closed, which waits for their answers
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/articles/") {
			<-release
		}
		return false
	}
	w := newWorld(t)
	w.provider("writer", func(*v1alpha1.AIProvider) {}) // 4 calls at a time, and 8 requests to a host
	with := func(source *v1alpha1.FeedSource) {
		source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "writer"}}
	}
	for i := range 3 {
		hanging, name := feedtest.NewAt(t, fmt.Sprintf("127.0.0.%d", i+2)), fmt.Sprintf("stuck-%d", i)
		hanging.OnRequest(hang)
		hanging.List(hanging.Entries(name, 20)...)
		w.source(name, hanging.FeedURL(), with)
		w.untilItems(name, hasItems(20))
		apitest.Eventually(t, func(context.Context) error {
			if hanging.Hits("/articles/"+name+"-1") == 0 {
				return errors.New("not asked for yet")
			}
			return nil
		})
	}
	fine := feedtest.New(t)
	fine.List(fine.Entries("quick", 20)...)
	w.source("quick", fine.FeedURL(), with)
	w.untilItems("quick", allProcessed(20))
}
