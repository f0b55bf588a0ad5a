// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const (
	loadedSources = 10
	loadedSlots   = 8
	// everyPost fails whose request has this number, or a multiple of it.
	everyPost = 4
	// answerTakes is how long the server needs for an answer, so that there always are posts on their way.
	answerTakes = 50 * time.Millisecond
)

// UnderLoad measures, for each way to go, until the other replica posts when the one that works goes in the midst of a thousand items, some of whose posts
// fail; and counts what is lost or posted twice.
func UnderLoad(ctx context.Context, p *rig.Plane, s rig.Scale) (rows []figure.Row, err error) {
	items := s.Of(1000, 100)
	var all loaded
	for _, way := range ways {
		rig.Progress("Hand-over in the midst of %d items when the replica that works %s …", items, way.what)
		one, err := handOverLoaded(ctx, p, way.leave, items)
		if err != nil {
			return rows, err
		}
		all.wrong += one.wrong
		all.unfinished += one.unfinished
		all.failed += one.failed
		rows = append(rows,
			figure.AtMost(fmt.Sprintf("time until the other replica posts when the one that works %s in the midst of %d items", way.what, items),
				fmt.Sprintf("%.1f s", one.took.Seconds()), one.took.Seconds(), way.most, " s"),
			figure.Note("  until the other one holds the Lease", "%.1f s", one.held.Seconds()),
			figure.Note("  posts before it went, and those that failed in all", "%d, %d", one.before, one.failed))
	}
	return append(rows,
		figure.AtMost("  items that were not posted exactly once", fmt.Sprintf("%d (of %d)", all.wrong, items*len(ways)), float64(all.wrong), 0, ""),
		figure.AtMost("  items that were not made and processed once", fmt.Sprint(all.unfinished), float64(all.unfinished), 0, "")), nil
}

// loaded is what became of a hand-over in the midst of items.
type loaded struct {
	held, took        time.Duration // until the other one holds the Lease, and until it posts
	before, failed    int
	wrong, unfinished int
}

func handOverLoaded(ctx context.Context, p *rig.Plane, leave func(*pair) error, items int) (done loaded, err error) {
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return done, err
	}
	defer feeds.Close()
	services, err := rig.StartServices(ctx, items)
	if err != nil {
		return done, err
	}
	defer services.Close()
	press := &press{ctx: ctx, leaveAt: items / 4, seen: map[string]bool{}, reached: make(chan struct{}), next: make(chan struct{})}
	services.OnPost(press.answer)
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return done, err
	}
	if err := p.CreateServices(ctx, services, namespace, loadedSlots, retriedSoon); err != nil {
		return done, err
	}
	of, err := startPair(ctx, p, namespace)
	if err != nil {
		return done, err
	}
	defer of.stop(ctx)
	if err := of.untilReady(ctx); err != nil {
		return done, err
	}
	var entries []feed.Entry
	for i := range loadedSources {
		name := fmt.Sprint("feed-", i)
		listed := news.Entries(name, items/loadedSources)
		entries = append(entries, listed...)
		if err := p.Client.Create(ctx, news.Source(namespace, name, feeds.Publish(name, listed), news.Posting)); err != nil {
			return done, err
		}
	}
	if err := of.first.Explain(await(ctx, press.reached)); err != nil {
		return done, err
	}
	if err := of.handOver(ctx, p, namespace, press, leave, &done); err != nil {
		return done, err
	}
	if err := of.wake(ctx); err != nil {
		return done, err
	}
	found := 0
	err = rig.UntilSeldom(ctx, func(ctx context.Context) (bool, error) {
		now, err := processed(ctx, p, []string{namespace})
		found = now
		return found >= items, err
	})
	done.unfinished = max(items-found, found-items)
	done.failed, done.wrong = press.count(), rig.NotPostedOnce(services.Posts(), entries)
	return done, of.second.Explain(err)
}

// handOver has the first go, and waits until the second holds the Lease and a post comes: it is the second's.
func (of *pair) handOver(ctx context.Context, p *rig.Plane, namespace string, press *press, leave func(*pair) error, done *loaded) error {
	held, err := holders(ctx, p, namespace, 1)
	if err != nil {
		return err
	}
	if err := of.first.Explain(leave(of)); err != nil {
		return err
	}
	began := time.Now()
	done.before = press.asked()
	err = rig.Until(ctx, func(ctx context.Context) (bool, error) {
		holds, err := holders(ctx, p, namespace, 1)
		for holder := range holds {
			return held[holder] == 0, err
		}
		return false, err
	})
	if done.held = time.Since(began); err == nil {
		err = await(ctx, press.another())
	}
	done.took = time.Since(began)
	return of.second.Explain(err)
}

// retriedSoon has what failed retried at once: the benchmark is about who does it.
func retriedSoon(account *v1alpha1.FeedDestination) {
	account.Spec.Retry = &v1alpha1.DeliveryRetryPolicy{InitialDelay: &metav1.Duration{Duration: time.Second}}
}

// press answers requests to post, some of them by a failure.
type press struct {
	ctx     context.Context // of the run, for a hook that is given none
	leaveAt int
	reached chan struct{} // closed with the request that is the cue to go

	mu               sync.Mutex
	requests, failed int
	seen             map[string]bool // posts that have been asked for
	next             chan struct{}   // closed with the next request
}

// answer fails each fourth post when it is asked for first, in turn in one of four ways: after and before it has published, in words and by a broken
// connection.
func (a *press) answer(pending *mastodontest.Pending) (answered bool) {
	a.mu.Lock()
	a.requests++
	number := a.requests
	fails := number%everyPost == 0 && !a.seen[pending.Post.Text]
	a.seen[pending.Post.Text] = true
	if fails {
		a.failed++
	}
	fault := a.failed % 4
	if number == a.leaveAt {
		close(a.reached)
	}
	close(a.next)
	a.next = make(chan struct{})
	a.mu.Unlock()
	if err := rig.Pause(a.ctx, answerTakes); err != nil || !fails {
		return false
	}
	if fault < 2 {
		pending.Commit()
	}
	if fault%2 == 0 {
		pending.Reset()
	} else {
		pending.Answer(http.StatusServiceUnavailable, "text/plain", "down for maintenance")
	}
	return true
}

// another is closed with the next request.
func (a *press) another() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next
}

// asked is how many posts were asked for.
func (a *press) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// count is how many requests have failed.
func (a *press) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// await waits for an event.
func await(ctx context.Context, event <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
