// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// faults answers requests of an operator in place of the API server; a status without a code is for no answer at all.
type faults struct {
	mu     sync.Mutex
	answer func(*http.Request) *metav1.Status
	after  func(*http.Request)
	// refused are requests that are refused although they watch, which answer does not see; nil for none.
	refused func(*http.Request) bool
	// underWay ends the watches that have been answered.
	underWay []context.CancelFunc
	// What the API server tells of changes of items waits at behind, and of sources at sourcesBehind.
	behind, sourcesBehind gate
}

// changesTold is the body of a watch.
type changesTold struct {
	io.ReadCloser
	behind *gate
	watch  *http.Request
}

func (b changesTold) Read(p []byte) (int, error) {
	b.behind.pass(b.watch)
	n, err := b.ReadCloser.Read(p)
	b.behind.pass(b.watch)
	return n, err
}

// then sets what happens before the operator hears the API server's answer to a request.
func (f *faults) then(after func(*http.Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = after
}

// on sets what is answered; nil, or an answer of nil, leaves it to the API server.
func (f *faults) on(answer func(*http.Request) *metav1.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// refuse has requests refused as by an API server that has lost the role of the operator, and ends the watches that are under way; nil ends it.
func (f *faults) refuse(refused func(*http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = refused
	for _, end := range f.underWay {
		end()
	}
	f.underWay = nil
}

// watch is a request to watch that ends when others are to be refused.
func (f *faults) watch(r *http.Request) *http.Request {
	ctx, end := context.WithCancel(r.Context())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay = append(f.underWay, end)
	if f.refused != nil && f.refused(r) { // since this request was looked at
		end()
	}
	return r.WithContext(ctx)
}

// gateOf is where the answer to a watch waits; nil for other requests.
func (f *faults) gateOf(r *http.Request) *gate {
	switch {
	case !r.URL.Query().Has("watch"):
	case strings.HasSuffix(r.URL.Path, "/feeditems"):
		return &f.behind
	case strings.HasSuffix(r.URL.Path, "/feedsources"):
		return &f.sourcesBehind
	}
	return nil
}

func (f *faults) wrap(server http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		f.mu.Lock()
		answer, after, refused := f.answer, f.after, f.refused
		f.mu.Unlock()
		if after != nil {
			defer after(r)
		}
		if refused != nil && refused(r) {
			return respond(r, &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "may not"})
		}
		if at := f.gateOf(r); at != nil {
			response, err := server.RoundTrip(f.watch(r))
			if err == nil {
				response.Body = changesTold{response.Body, at, r}
			}
			return response, err
		}
		if answer == nil {
			return server.RoundTrip(r)
		}
		status := answer(r)
		if status == nil {
			return server.RoundTrip(r)
		}
		if status.Code == 0 {
			return nil, errors.New("connection refused")
		}
		return respond(r, status)
	})
}

// respond makes a response with a status.
func respond(r *http.Request, status *metav1.Status) (*http.Response, error) {
	status.Kind, status.APIVersion, status.Status = "Status", "v1", metav1.StatusFailure
	body, err := json.Marshal(status)
	header := http.Header{"Content-Type": {"application/json"}}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	return &http.Response{
		StatusCode: int(status.Code), Body: io.NopCloser(bytes.NewReader(body)), Request: r,
		Header: header,
	}, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// R2.8: a summary is not asked for again because the API server was away when it was to be written.
func TestAResultSurvivesAnAPIServerThatIsAway(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	counted := &counting{}
	w := newWorld(t, func(w *world) { counted.Provider, w.builtin = w.builtin, counted })
	var mu sync.Mutex
	refusals := 3
	w.faults.on(func(r *http.Request) *metav1.Status {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/feeditems/") || refusals == 0 {
			return nil
		}
		refusals--
		return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}
	})
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(1))
	if got := counted.calls.Load(); got != 1 || web.Hits("/articles/one-1") != 1 {
		t.Errorf("%d summaries were asked for, and the page %d times", got, web.Hits("/articles/one-1"))
	}
}

// R2.8, R2.11: a result that the API server will never take ends the item, instead of being made
// again and again.
func TestAResultThatIsRefusedEndsTheItem(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	counted := &counting{}
	w := newWorld(t, func(w *world) { counted.Provider, w.builtin = w.builtin, counted })
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/feeditems/") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil && bytes.Contains(body, []byte(`"summary"`)) {
			return &metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "summary is not liked"}
		}
		return nil
	})
	w.source("news", web.FeedURL())
	item := w.untilItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidContent))
	if !strings.Contains(item.Status.Failure.Message, "not liked") || counted.calls.Load() != 1 {
		t.Errorf("failure %+v after %d summaries", item.Status.Failure, counted.calls.Load())
	}
}

// R1.5, R1.2: a first poll that is cut off after it has made items makes no more of them when it
// is made again, and the source says what is wrong.
func TestAFirstPollThatIsCutOffDoesNotFlood(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("many", 20)...)
	w := newWorld(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feedmemories") {
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "the quota is used up"}
		}
		return nil
	})
	source := w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.InitialItems = new(int32(3)) })
	w.untilItems("news", allProcessed(3))
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != v1alpha1.ReasonItemsNotCreated || !strings.Contains(ready.Message, "quota") {
			return fmt.Errorf("condition %+v", ready)
		}
		return nil
	})
	for range 3 {
		polls := web.Hits("/feed.xml")
		w.clock.Step(15 * time.Minute)
		w.untilSource("news", func(*v1alpha1.FeedSource) error {
			if web.Hits("/feed.xml") == polls {
				return errors.New("not polled")
			}
			return nil
		})
	}
	w.faults.on(nil)
	w.clock.Step(15 * time.Minute)
	w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
	w.poll("news")
	w.untilItems("news", allProcessed(3))
}

// R1.5, R1.6: an entry that could not become an item is tried again half a minute later, in the room that it had, though its source has room for no other.
func TestAnEntryThatIsTriedAgainHasItsRoom(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	var refused atomic.Bool
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/feeditems") || !refused.CompareAndSwap(false, true) {
			return nil
		}
		return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "etcdserver: request timed out"}
	})
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.MaxActiveItems = new(int32(1)) })
	w.untilSource("news", saysOf(v1alpha1.ReasonItemsNotCreated))
	w.clock.Step(31 * time.Second)
	w.untilItems("news", allProcessed(1))
}

// R1.6: an entry that the API server refuses does not stop the others.
func TestAnEntryThatIsRefusedStopsNoOther(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("some", 4)
	entries[1].Title = "Poison"
	web.List(entries...)
	w := newWorld(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/feeditems") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil && bytes.Contains(body, []byte("Poison")) {
			return &metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "poison is not liked"}
		}
		return nil
	})
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(3))
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		damaged := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionDamaged)
		if damaged == nil || !strings.Contains(damaged.Message, "Poison") {
			return fmt.Errorf("condition %+v", damaged)
		}
		return nil
	})
}

// R1.9: credentials that come after the source are used at once, and readiness comes back with
// them although the feed has not changed.
func TestASecretThatComesLaterIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Interval = &metav1.Duration{Duration: 168 * time.Hour}
	})
	w.untilItems("news", allProcessed(1))
	w.change(source, `{"spec":{"secretRef":{"name":"later"},"allowInsecure":true}}`)
	w.untilSource("news", saysOf(string(v1alpha1.ReasonWaiting), `Secret "later"`))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "later"}, StringData: map[string]string{"token": "geheim"}}
	if err := w.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Minute)
	w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
}

// R3.7: what a person asks for while a source is suspended is done when it goes on.
func TestARetryThatIsAskedForDuringASuspensionIsMadeAfterIt(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("late", 1)...)
	mend := failing(web)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Retry = &v1alpha1.RetryPolicy{MaxRetries: new(int32(0))}
	})
	item := w.untilItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded))
	w.change(source, `{"spec":{"suspend":true}}`)
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.ObservedGeneration != source.Generation {
			return errors.New("not suspended yet")
		}
		return nil
	})
	mend()
	w.retry(item.Name, "now")
	w.change(source, `{"spec":{"suspend":false}}`)
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}

// R1.4: a pause that one server asked for is not kept by another.
func TestANewURLDoesNotWaitForTheOldServer(t *testing.T) {
	t.Parallel()
	bad, good := feedtest.New(t), feedtest.NewAt(t, "127.0.0.2")
	good.List(good.Entries("one", 1)...)
	bad.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Retry-After", "86400")
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	w := newWorld(t)
	source := w.source("news", bad.FeedURL())
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.NotBefore == nil {
			return errors.New("no pause yet")
		}
		return nil
	})
	w.change(source, fmt.Sprintf(`{"spec":{"url":%q}}`, good.FeedURL()))
	w.untilItems("news", allProcessed(1))
}

// A token of any length, cut nowhere, acts once.
func TestALongPollTokenActsOnce(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	w.source("news", web.FeedURL())
	token := strings.Repeat("長", 200)
	w.annotate(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, v1alpha1.AnnotationPoll, token)
	source := w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.LastHandledPoll == "" {
			return errors.New("not handled")
		}
		return nil
	})
	polls := web.Hits("/feed.xml")
	w.restart()
	w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
	w.source("other", web.URL+"/other.xml") // by when this one was polled, the first was looked at
	w.untilSource("other", func(source *v1alpha1.FeedSource) error {
		if source.Status.LastPollTime == nil {
			return errors.New("not polled")
		}
		return nil
	})
	if got := web.Hits("/feed.xml"); got != polls {
		t.Errorf("polled %d times more", got-polls)
	}
}

// change patches the spec of a source.
func (w *world) change(source *v1alpha1.FeedSource, patch string) {
	w.t.Helper()
	changed := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
	if err := w.client.Patch(w.t.Context(), changed, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}
