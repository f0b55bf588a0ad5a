// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// takeOut has something of the cluster take a field out of the status in the patches of items, or all of it, as a mutating webhook may, as long as
// on says so. It returns how often that was done. After each time the API server is busy for a moment.
func (w *world) takeOut(field string, on func() bool) *atomic.Int32 {
	taken, busy := &atomic.Int32{}, &atomic.Bool{}
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/feeditems/") {
			return nil
		}
		if busy.CompareAndSwap(true, false) {
			return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}
		}
		before := taken.Load()
		defer func() { busy.Store(taken.Load() > before) }()
		body, err := io.ReadAll(r.Body)
		var patch map[string]map[string]any
		if err == nil && json.Unmarshal(body, &patch) == nil && on() && patch["status"] != nil {
			if _, is := patch["status"][field]; is {
				delete(patch["status"], field)
				taken.Add(1)
			} else if field == "" {
				delete(patch, "status")
				taken.Add(1)
			}
			body, _ = json.Marshal(patch)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return nil
	})
	return taken
}

// R3.14, R4.4: something of the cluster takes out of statuses what is written. No model is called again for it and no post made again, and what is known
// stands there in the end.
func TestWhatIsTakenOutOfAStatusIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	for what, field := range map[string]string{"all": "", "the summary": "summary", "the phase": "phase", "the deliveries": "deliveries"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			press, gemini := w.mastodon(), w.gemini("gemini")
			w.openDestination("press", press.URL)
			w.untilProvider("gemini", isReady)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			taken := w.takeOut(field, func() bool { return len(gemini.Calls()) > 0 })
			w.source("news", web.FeedURL(), summarizedBy("gemini"), postsTo("press"))
			await(t, func() error {
				if taken.Load() < 3 {
					w.clock.Step(time.Second)
					return errNotYet
				}
				return nil
			})
			w.faults.on(nil)
			w.minutesPass(30, "news", eachOf(1, hasSummaryAndPost))
			if got := len(gemini.Calls()); got != 1 {
				t.Errorf("%d calls for one summary", got)
			}
			posts(t, press, 1)
		})
	}
}

// hasSummaryAndPost checks that an item ended well, with all that belongs to it.
func hasSummaryAndPost(item *v1alpha1.FeedItem) error {
	row, err := rowTo(item, "press")
	if err == nil && (item.Status.Summary == nil || row.URL == "" || row.State != v1alpha1.DeliveryDone) {
		err = fmt.Errorf("summary %v, delivery %+v", item.Status.Summary, row)
	}
	return errors.Join(err, inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(item))
}

// R4.4: the same of what a post has come to, and the operator is started anew before it can be written: the post is found.
func TestAPostWhoseResultIsTakenOutIsFoundAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	press := w.mastodon()
	w.openDestination("press", press.URL)
	var made atomic.Bool
	press.OnPost(func(*mastodontest.Pending) bool { made.Store(true); return false })
	taken := w.takeOut("deliveries", made.Load)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	await(t, func() error {
		if taken.Load() < 1 {
			return errNotYet
		}
		return nil
	})
	w.settles()
	w.restart()
	w.faults.on(nil)
	w.minutesPass(30, "news", eachOf(1, hasSummaryAndPost))
	posts(t, press, 1)
}

// R3.14: a result that the API server never takes, such as for its size, is a failure of the item, and the model is not called for it again and again.
func TestAResultThatIsNeverTakenIsAFailure(t *testing.T) {
	t.Parallel()
	for name, answer := range portion.Some(map[string]metav1.Status{
		"it is too large":           {Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge, Message: "limit is 3145728"},
		"it is too large for etcd":  {Code: http.StatusInternalServerError, Message: "etcdserver: request is too large"},
		"a gateway does not let it": {Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: "the request is not allowed"},
	}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gemini := w.gemini("gemini")
			w.untilProvider("gemini", isReady)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
				if !strings.Contains(body, `"summary"`) {
					return nil
				}
				said := answer
				return &said
			})
			w.source("news", web.FeedURL(), summarizedBy("gemini"))
			w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
				if said := readyMessage(item); !strings.Contains(said, "refuses the result") {
					return errors.New(said)
				}
				return inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidContent)(item)
			})
			if got := len(gemini.Calls()); got != 1 {
				t.Errorf("%d calls", got)
			}
		})
	}
}
