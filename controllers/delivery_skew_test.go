// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// skews are how far the clock of a server is ahead of the operator's.
var skews = []time.Duration{time.Minute, -time.Minute, 11 * time.Minute, -11 * time.Minute, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}

func skewed(by time.Duration) func(*mastodontest.Options) {
	return func(o *mastodontest.Options) { o.Skew = by }
}

// R4.4: clocks may differ by a day without a post being lost, or made twice; also at a server that ignores keys.
func TestAPostIsMadeOnceWhateverTheServersClockShows(t *testing.T) {
	t.Parallel()
	for _, by := range portion.SomeOf(skews, 2) {
		for what, where := range portion.Some(map[string]struct {
			fault
			receiver string
			want     ending
		}{
			"the answer never arrives":        {accepted["the answer never arrives"], "at one that ignores keys", foundAgain},
			"the server publishes late":       {accepted["the server publishes after the connection died"], "at one that ignores keys", foundAgain},
			"the request never arrives":       {notAccepted["the request never arrives"], "at one that ignores keys", postedAgain},
			"the answer of one that has keys": {accepted["the answer never arrives"], "at one that fails a replay", foundAgain},
		}, 2) {
			t.Run(fmt.Sprintf("%s %s, %s ahead", what, where.receiver, by), func(t *testing.T) {
				t.Parallel()
				where.against(t, both(receivers[where.receiver].options, skewed(by)), where.want)
			})
		}
	}
}

// R3.14, R4.4: the time of the first attempt was noted by a clock that was wrong. The post is looked for back to when the item was
// made, and found.
func TestAPostIsFoundThoughItsFirstAttemptIsNotedWrong(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"a year ahead": aYear, "a year behind": -aYear} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(ignoresKeys)
			w.openDestination("press", server.URL)
			server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
			w.oneItem("press")
			item := w.untilItem("news", hasFailed("press", 1))
			server.OnPost(nil)
			rows := item.Status.Deliveries
			rows[0].FirstAttemptTime = &metav1.Time{Time: rows[0].FirstAttemptTime.Add(by)}
			w.patchItem(item.Name, fmt.Sprintf(`{"status":{"deliveries":%s}}`, asJSON(t, rows)))
			w.untilUpToDate()
			ended := w.untilEnded("news", 1)[0]
			if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(&ended); err != nil {
				t.Error(err)
			}
			w.checkPosts(server, &ended, foundAgain)
		})
	}
}

// R4.4: the operator's clock, which is the API server's, was ahead of the destination's when the post was made, and is set right before
// the post is looked for.
func TestAPostIsFoundThoughTheClockWasSetBackSince(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{11 * time.Minute, time.Hour, 24 * time.Hour} {
		for who, goesOn := range portion.Some(whoGoesOn, 1) {
			t.Run(fmt.Sprintf("%s, %s", by, who), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				right := w.clock.Now()
				var ahead atomic.Int64
				server := w.mastodon(ignoresKeys, func(o *mastodontest.Options) {
					o.Now = func() time.Time { return w.clock.Now().Add(-time.Duration(ahead.Load())) }
				})
				ahead.Store(int64(by))
				w.clock.SetTime(right.Add(by))
				w.openDestination("press", server.URL)
				server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
				w.oneItem("press")
				w.untilItem("news", hasFailed("press", 1))
				server.OnPost(nil)
				w.clock.SetTime(w.clock.Now().Add(-by))
				ahead.Store(0)
				goesOn(w)
				ended := w.untilEnded("news", 1)[0]
				if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(&ended); err != nil {
					t.Error(err)
				}
				w.checkPosts(server, &ended, foundAgain)
			})
		}
	}
}

// R4.4: a key is trusted for less than the hour for which the server knows it, though the API server's clock, by which the first attempt
// was noted, is set back by that hour meanwhile. The account cannot be read: a person is asked.
func TestAKeyIsNotTrustedForLongerBecauseTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(writeOnly)
	w.openDestination("press", server.URL)
	server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
	w.oneItem("press")
	w.untilItem("news", hasFailed("press", 1))
	server.OnPost(nil)
	w.ahead.Store(-int64(time.Hour))
	w.clock.Step(65 * time.Minute) // the server knows the key no longer
	ended := w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(&ended); err != nil {
		t.Error(err)
	}
	if posts := len(server.Posts()); posts != 1 {
		t.Errorf("%d posts", posts)
	}
}

// R4.4: an account on which so much else was posted that the post cannot be looked for: a person is asked, and nothing is posted again. It is not
// looked for again where that has been seen. One look that took too long, as it may on a busy machine, is a failed attempt.
func TestAPostThatIsBuriedIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(ignoresKeys, func(o *mastodontest.Options) { o.PageSize = 1 })
	looks := pagesOfLooks(server)
	w.openDestination("press", server.URL)
	server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
	w.oneItem("press")
	w.untilItem("news", hasFailed("press", 1))
	server.OnPost(nil)
	for i := range 300 {
		server.Publish(mastodontest.Post{Text: fmt.Sprintf("Number %d", i)})
	}
	ended := w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(&ended); err != nil {
		t.Error(err)
	}
	if posts := len(server.Posts()); posts != 301 {
		t.Errorf("%d posts", posts)
	}
	pages := looks()
	if len(pages) == 0 || slices.Max(pages) > 250 || slices.Index(pages, 250) != len(pages)-1 {
		t.Errorf("the looks have read %d pages: more than 250, or it was looked for again after that", pages)
	}
	if row, err := rowTo(&ended, "press"); err != nil || int(row.FailedAttempts) < len(pages) { // the call, and each look but the last
		t.Errorf("the looks have read %d pages, and are not counted: %+v (%v)", pages, row, err)
	}
}

// pagesOfLooks counts from now on how many pages of statuses each look for a post reads at a server, and returns what returns that. A look begins
// with the newest.
func pagesOfLooks(server *mastodontest.Server) func() []int {
	var mu sync.Mutex
	var pages []int
	server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		query := r.URL.Query()
		switch {
		case !strings.HasSuffix(r.URL.Path, "/statuses") || r.Method != http.MethodGet || query.Get("limit") == "1": // with 1 it asks what the token may do
		case query.Get("max_id") == "":
			pages = append(pages, 1)
		default:
			pages[len(pages)-1]++
		}
		return false
	})
	return func() []int {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(pages)
	}
}
