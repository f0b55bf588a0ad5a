// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// The ways in which an API server takes no writes of items.
var (
	databaseFull = metav1.Status{Code: http.StatusInternalServerError, Message: "etcdserver: mvcc: database space exceeded"}
	overQuota    = metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "feeditems is forbidden: exceeded quota: items"}
	noAnswer     = metav1.Status{}
)

// refusals has the writes of items refused from one moment to another.
type refusals struct {
	with metav1.Status
	// in is the namespace that it concerns; empty: all.
	in string

	on      atomic.Bool
	refused sync.Map // names of items
}

// refuses makes them, not begun yet.
func (w *world) refuses(with metav1.Status, in string) *refusals {
	r := &refusals{with: with, in: in}
	w.onItemWrites(func(request *http.Request, _ string) *metav1.Status {
		if !r.on.Load() || !strings.Contains(request.URL.Path, "/namespaces/"+r.in) {
			return nil
		}
		_, name, _ := strings.Cut(request.URL.Path, "/feeditems/")
		r.refused.Store(strings.TrimSuffix(name, "/status"), true)
		return r.with.DeepCopy()
	})
	return r
}

// last has them last for two minutes, in which time passes little by little.
func (w *world) last(r *refusals) {
	w.t.Helper()
	w.untilGivenUp(r)
	for range 24 {
		w.clock.Step(5 * time.Second)
	}
	w.lookAtItems("news")
	w.untilGivenUp(r)
}

// untilGivenUp waits until writes were refused, and none of them is tried again in place.
func (w *world) untilGivenUp(r *refusals) {
	w.t.Helper()
	await(w.t, func() error {
		err := errNotYet
		r.refused.Range(func(item, _ any) bool {
			err = nil
			if name, _ := item.(string); !w.givenUp.has(name) {
				err = fmt.Errorf("%s is still tried", name)
			}
			return err == nil
		})
		return err
	})
}

// R3.14, R2.8, R4.4: for two minutes no writes are taken, while models answer, or posts are made. What has cost money, and what
// others see, is written when that is possible again: ten items are ten calls of the model and ten posts, and nobody has to
// look whether one was made.
func TestWhatIsKnownIsKeptWhileNoWritesAreTaken(t *testing.T) {
	t.Parallel()
	const n = 10
	for name, with := range portion.Some(map[string]metav1.Status{"the database is full": databaseFull, "it is forbidden": overQuota, "nobody answers": noAnswer}, 2) {
		for _, when := range portion.SomeOf([]string{"the model answers", "a post is made"}, 1) {
			t.Run(name+" when "+when, func(t *testing.T) {
				t.Parallel()
				writer := &script{}
				w := scriptedWorld(t, map[string]*script{"writer": writer})
				refused := w.refuses(with, "")
				server := w.mastodon(both(ignoresKeys, writeOnly)) // of what is not written down there, nobody could ever know
				w.openDestination("press", server.URL)
				begin := sync.OnceFunc(func() { refused.on.Store(true) })
				if when == "a post is made" {
					server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
						if r.Method == http.MethodPost {
							begin()
						}
						return false
					})
				} else {
					writer.answer = func(_ int, request provider.Request) (provider.Response, error) {
						begin()
						return written(request), nil
					}
				}
				web := feedtest.New(t)
				web.List(web.Entries("news", n)...)
				w.source("news", web.FeedURL(), summarizedBy("writer"), postsTo("press"))
				w.last(refused)
				calls, posts := writer.calls(), len(server.Posts())
				w.last(refused)
				if more, later := writer.calls(), len(server.Posts()); more != calls || later != posts {
					t.Errorf("%d more calls of the model and %d more posts in two minutes in which nothing could be written", more-calls, later-posts)
				}
				refused.on.Store(false)
				w.itemsInTime("news", allProcessed(n))
				if calls, posts := writer.calls(), server.Count("POST /api/v1/statuses"); calls != n || posts != n {
					t.Errorf("%d calls of the model and %d posts for %d items", calls, posts, n)
				}
			})
		}
	}
}

// R3.14: while no writes are taken, not even a page is read for an item that has not begun; who finds out whether they are taken again does so by a write.
func TestNoPageIsReadWhileNoWritesAreTaken(t *testing.T) {
	t.Parallel()
	const n = 10
	writer := &script{}
	w := scriptedWorld(t, map[string]*script{"writer": writer}, func(w *world) { w.perHost = 2 })
	refused := w.refuses(overQuota, "")
	begin := sync.OnceFunc(func() { refused.on.Store(true) })
	writer.answer = func(_ int, request provider.Request) (provider.Response, error) {
		begin()
		return written(request), nil
	}
	web := feedtest.New(t)
	var first sync.Once
	known := make(chan struct{}) // closed when it is known that writes are refused; the pages that are being read then come after that, but for the first one
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/articles/") {
			waits := true
			first.Do(func() { waits = false })
			if waits {
				select {
				case <-known:
				case <-r.Context().Done():
				}
			}
		}
		return false
	})
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"))
	w.untilGivenUp(refused)
	close(known)
	for range 3 {
		w.last(refused)
	}
	pages := 0
	for i := range n {
		pages += web.Hits(fmt.Sprintf("/articles/news-%d", i+1))
	}
	if most := w.perHost + 1; pages > most { // the first one, one in its place, and the other one
		t.Errorf("%d pages were read, of which at most %d had begun when nothing could be written any more", pages, most)
	}
	refused.on.Store(false)
	w.itemsInTime("news", allProcessed(n))
	if calls := writer.calls(); calls != n {
		t.Errorf("%d calls of the model for %d items", calls, n)
	}
}

// R3.14, R3.10: a dead letter is told once, though for two minutes nobody can write down that it was.
func TestADeadLetterIsToldOnceWhileNoWritesAreTaken(t *testing.T) {
	t.Parallel()
	for name, with := range portion.Some(map[string]metav1.Status{"the database is full": databaseFull, "it is forbidden": overQuota, "nobody answers": noAnswer}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refused := w.refuses(with, "")
			server := w.mastodon(ignoresKeys)
			w.openDestination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect))
			server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					refused.on.Store(true)
				}
				return false
			})
			w.brokenPages(1, tells("admin"))
			w.last(refused)
			w.last(refused)
			refused.on.Store(false)
			server.OnRequest(nil)
			w.itemsInTime("news", eachOf(1, told("admin", v1alpha1.NotificationDone, 0)))
			if posts := server.Count("POST /api/v1/statuses"); posts != 1 {
				t.Errorf("told %d times", posts)
			}
		})
	}
}

// R3.14, R3.13: writes that are refused in one namespace, as by its quota or by a webhook, hold up that namespace alone. There nothing
// is begun that costs money, however many items wait.
func TestRefusedWritesHoldUpTheirNamespaceAlone(t *testing.T) {
	t.Parallel()
	const n, workers = 20, 4
	calls := &scripted{}
	calls.now(works)
	metrics := prometheus.NewRegistry()
	tenants := newTenants(t, 2, func(w *world) { w.builtin, w.workers, w.metrics = calls, workers, metrics })
	w, neighbour := tenants[0], tenants[1]
	refused := w.refuses(overQuota, w.namespace)
	measures(t, metrics, map[string]bool{})
	refused.on.Store(true)
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL())
	w.last(refused)
	other.List(other.Entries("other", n)...)
	neighbour.source("other", other.FeedURL())
	neighbour.awaitItems("other", allProcessed(n))
	w.lookAtSource("news")
	w.untilSource("news", saysHeld("exceeded quota"))
	neighbour.lookAtSource("other")
	neighbour.untilSource("other", saysHeld(""))
	measures(t, metrics, map[string]bool{"writes_held_namespaces": true, "results_kept": true, "results_kept_bytes": true})
	calls.mu.Lock()
	held := calls.total - n
	calls.mu.Unlock()
	if held > workers {
		t.Errorf("%d calls in a namespace of which no writes are taken, want %d at most", held, workers)
	}
	refused.on.Store(false)
	w.itemsInTime("news", allProcessed(n))
	w.untilSource("news", saysHeld(""))
	measures(t, metrics, map[string]bool{})
	if err := calls.askedBy(2 * n); err != nil {
		t.Error(err)
	}
}

// measures checks which of the metrics of what is not taken are above zero.
func measures(t *testing.T, metrics prometheus.Gatherer, want map[string]bool) {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil || len(families) < 4 {
		t.Fatalf("%d metrics: %v", len(families), err)
	}
	for _, family := range families {
		name := strings.TrimPrefix(family.GetName(), "feed_operator_")
		if !strings.HasPrefix(name, "writes_held") && !strings.HasPrefix(name, "results_kept") {
			continue
		}
		if value := family.GetMetric()[0].GetGauge().GetValue(); (value > 0) != want[name] {
			t.Errorf("%s is %v", name, value)
		}
	}
}

// saysHeld holds for a source that says that its items are held, with the API server's answer; empty: it says nothing of that.
func saysHeld(answer string) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		said := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionItemsHeld)
		if answer == "" && said != nil || answer != "" && (said == nil || !strings.Contains(said.Message, answer)) {
			return fmt.Errorf("says %v, want %q", said, answer)
		}
		return nil
	}
}

// R3.14: what is about the whole API server holds up all namespaces, also those that had nothing to write yet. It is told once by
// the operator's pod, and so is its end; an item that had to wait for it says so.
func TestAFullDatabaseHoldsUpAll(t *testing.T) {
	t.Parallel()
	calls := &scripted{}
	calls.now(works)
	tenants := newTenants(t, 2, func(w *world) {
		w.builtin = calls
		w.self = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: operatorPod}
	})
	w, neighbour := tenants[0], tenants[1]
	refused := w.refuses(databaseFull, "")
	refused.on.Store(true)
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL())
	w.last(refused)
	other.List(other.Entries("other", 5)...)
	neighbour.source("other", other.FeedURL())
	neighbour.awaitItems("other", hasItems(5))
	w.last(refused)
	neighbour.lookAtItems("other")
	if err := calls.askedBy(1); err != nil {
		t.Error(err)
	}
	refused.on.Store(false)
	for _, tenant := range tenants {
		source, n := "news", 1
		if tenant == neighbour {
			source, n = "other", 5
		}
		tenant.itemsInTime(source, allProcessed(n))
	}
	if err := calls.askedBy(6); err != nil {
		t.Error(err)
	}
	w.untilTold(v1alpha1.ReasonWritesRefused)
	w.untilTold(v1alpha1.ReasonRecovered)
	if told, err := w.podEvents(t.Context()); err != nil || told[v1alpha1.ReasonWritesRefused] != 1 || told[v1alpha1.ReasonRecovered] != 1 {
		t.Errorf("told %v (%v)", told, err)
	}
}

// refusesOne has a webhook refuse what is written on one item, the first that has a summary, as long as what it returns says so.
func (w *world) refusesOne() *atomic.Bool {
	var refusing atomic.Bool
	var poison atomic.Pointer[string]
	refusing.Store(true)
	w.onItemWrites(func(r *http.Request, body string) *metav1.Status {
		if strings.Contains(body, `"summary"`) {
			poison.CompareAndSwap(nil, &r.URL.Path)
		}
		if path := poison.Load(); !refusing.Load() || path == nil || *path != r.URL.Path {
			return nil
		}
		return &metav1.Status{
			Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: `admission webhook "taste.example" denied the request: not liked`,
		}
	})
	return &refusing
}

// R3.14, R3.13: one item is refused, again and again, while all others are taken. It holds up nobody, and is not summarized again.
func TestAnItemThatIsRefusedAloneHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const n = 10
	calls := &scripted{}
	calls.now(works)
	w := newWorld(t, func(w *world) { w.builtin = calls })
	refusing := w.refusesOne()
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL())
	w.itemsInTime("news", processed(n, n-1))
	more := feedtest.New(t)
	more.List(more.Entries("more", n)...)
	w.source("more", more.FeedURL())
	w.itemsInTime("more", allProcessed(n))
	refusing.Store(false)
	await(t, func() error {
		items, err := w.items(t.Context(), "news")
		if err == nil {
			err = allProcessed(n)(items)
		}
		if err != nil {
			w.clock.Step(time.Minute)
		}
		return err
	})
	if err := calls.askedBy(2 * n); err != nil {
		t.Error(err)
	}
}

// R3.14: what is kept is written when the operator ends, if that is possible then.
func TestWhatIsKeptIsWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	calls := &scripted{}
	calls.now(works)
	w := newWorld(t, func(w *world) { w.builtin = calls })
	refused := w.refuses(databaseFull, "")
	refused.on.Store(true)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL())
	w.last(refused)
	refused.on.Store(false)
	w.restart()
	w.awaitItems("news", allProcessed(1))
	if err := calls.askedBy(1); err != nil {
		t.Error(err)
	}
}

// R3.14: a write whose answer does not come in time is not the end of what it was to write: the item is not summarized again.
func TestAWriteThatHangsLosesNothing(t *testing.T) {
	t.Parallel()
	calls := &scripted{}
	calls.now(works)
	w := newWorld(t, func(w *world) { w.builtin = calls })
	var hung atomic.Bool
	w.onItemWrites(func(r *http.Request, _ string) *metav1.Status {
		if !hung.CompareAndSwap(false, true) {
			return nil
		}
		<-r.Context().Done()
		return noAnswer.DeepCopy()
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL())
	await(t, func() error {
		if !hung.Load() {
			return errNotYet
		}
		return nil
	})
	w.itemsInTime("news", allProcessed(1))
	if err := calls.askedBy(1); err != nil {
		t.Error(err)
	}
}
