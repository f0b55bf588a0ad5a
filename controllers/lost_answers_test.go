// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// loseAnswer has the API server take the first write of an item that holds a text, and its answer
// get lost. It returns how many were lost.
func (w *world) loseAnswer(holds string) *atomic.Int32 {
	w.t.Helper()
	var lost atomic.Int32
	w.onItemWrites(func(r *http.Request, body string) *metav1.Status {
		if !strings.Contains(body, holds) || !lost.CompareAndSwap(0, 1) {
			return nil
		}
		taken := w.takeUnanswered(r, []byte(body))
		if taken == nil {
			lost.Store(0)
		}
		return taken
	})
	return &lost
}

// R2.8, R3.5: an attempt has failed, and the API server's answer to that gets lost. The item is tried
// again when it is due.
func TestAnItemIsTriedAgainThoughTheAnswerToItsFailureIsLost(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	mend := failing(web)
	w := newWorld(t)
	lost := w.loseAnswer(string(v1alpha1.PhaseDeferred))
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Retry = &v1alpha1.RetryPolicy{InitialDelay: &metav1.Duration{Duration: time.Second}}
	})
	item := w.awaitItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
	mend()
	w.clock.SetTime(item.Status.NextRetryTime.Time)
	item = w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if lost.Load() != 1 || item.Status.RetryCount > 1 {
		t.Errorf("%d answers lost, %d retries", lost.Load(), item.Status.RetryCount)
	}
}

// R4.4: an intent is written, and the API server's answer to that gets lost. Whether it is there, only
// the item says: the post is made once.
func TestAPostIsMadeOnceThoughTheAnswerToItsIntentIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	lost := w.loseAnswer(`"` + string(v1alpha1.DeliveryIntent) + `"`)
	w.oneItem("press")
	await(t, func() error {
		if lost.Load() == 0 {
			return errNotYet
		}
		return nil
	})
	w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent))
	w.lookAtItems("news") // somebody else may have written that intent, and may be in the call
	if posts := len(server.Posts()); posts != 0 {
		t.Errorf("%d posts with an intent that may be another operator's", posts)
	}
	w.clock.Step(10 * time.Minute) // what may have been begun with the intent has ended and settled
	w.itemsInTime("news", allProcessed(1))
	if err := onePostEach(server, "/articles/news-1"); err != nil || lost.Load() != 1 {
		t.Errorf("%v; %d answers lost", err, lost.Load())
	}
}

// R4.4, R4.5: the claim of a post is not taken by the API server. It used up nothing: the post is made
// as soon as it is, not an interval later.
func TestAClaimThatIsNotTakenUsesUpNoTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var refused atomic.Int32
	w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
		if !strings.Contains(body, `"Intent"`) || !refused.CompareAndSwap(0, 1) {
			return nil
		}
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
	})
	w.oneItem("press")
	w.awaitItem("news", waitsFor(`"press"`))
	w.destination("press", server.URL, func(described *v1alpha1.FeedDestination) {
		described.Spec.MinInterval = &metav1.Duration{Duration: time.Hour}
	})
	w.itemsInTime("news", allProcessed(1))
	if err := onePostEach(server, "/articles/news-1"); err != nil || refused.Load() != 1 {
		t.Errorf("%v; %d claims refused", err, refused.Load())
	}
}

// R2.8: the API server refuses the intents of an item with two deliveries, again and again. They are
// not sent to it as fast as it can refuse them, and nothing is posted without.
func TestIntentsThatAreRefusedAreNotSentInALoop(t *testing.T) {
	t.Parallel()
	const polls = 30
	w := newWorld(t)
	server := w.mastodon()
	var refused, refusing atomic.Int32
	refusing.Store(1)
	w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
		if refusing.Load() == 0 || !strings.Contains(body, `"Intent"`) {
			return nil
		}
		refused.Add(1)
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
	})
	w.oneItem("first", "second")
	w.awaitItem("news", waitsFor(`"first"`))
	w.openDestination("first", server.URL)
	w.openDestination("second", server.URL)
	w.timePasses(func() error {
		if refused.Load() < 2 {
			return errNotYet
		}
		return nil
	})
	for range polls { // each takes the operator and the API server some requests
		w.poll("news")
	}
	if got := refused.Load(); got > polls {
		t.Errorf("%d intents were refused during %d polls", got, polls)
	}
	if got := server.Count("POST /api/v1/statuses"); got != 0 {
		t.Errorf("%d requests to post without an intent", got)
	}
	refusing.Store(0)
	w.itemsInTime("news", allProcessed(1))
}

// R5.1, R4.4: that a post stands is written, and the API server's answer to that gets lost. The destination counts it all the same.
func TestAPostIsCountedThoughTheAnswerToItsResultIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	lost := w.loseAnswer(`"` + string(v1alpha1.DeliveryDone) + `"`)
	w.oneItem("press")
	w.itemsInTime("news", allProcessed(1))
	w.restart() // what was counted is written then
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered != 1 || d.Status.LastDeliveryTime == nil {
			t.Errorf("%d delivered, the last at %v, with %d answers lost", d.Status.Delivered, d.Status.LastDeliveryTime, lost.Load())
		}
		return nil
	})
}

// R5.1, R4.4: the answer to a post is lost, the post is found later, and the answer to the write that says so is lost as well. The post counts.
func TestAPostThatWasFoundIsCountedThoughTheAnswerToThatIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(ignoresKeys)
	w.openDestination("press", server.URL)
	var once atomic.Bool
	server.OnPost(func(p *mastodontest.Pending) bool {
		if !once.CompareAndSwap(false, true) {
			return false
		}
		p.Commit()
		p.Reset()
		return true
	})
	lost := w.loseReport("feeditems", `"state":"Done"`)
	w.oneItem("press")
	w.untilEnded("news", 1)
	w.restart() // what was counted is written then
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered != 1 || lost.Load() != 1 || len(server.Posts()) != 1 {
			t.Errorf("%d delivered of %d posts, with %d answers lost", d.Status.Delivered, len(server.Posts()), lost.Load())
		}
		return nil
	})
}
