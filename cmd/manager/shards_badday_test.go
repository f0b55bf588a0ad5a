// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R4.4, R6.3: two API servers, whose clocks are two hours apart and are set while replicas work, and a number of shards that goes from 1 to 4 and back: nothing is
// posted twice, and nobody ends for a clock.
func TestTheNumberOfShardsIsChangedWhileClocksAreSet(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "TestALeaderOfAnotherNumberOfShardsDoesNotPost shows a part of it, without clocks that are set")
	c := newCountry(t)
	old := c.worker(t, 1)
	old.proxy.ahead.Store(int64(time.Hour))
	c.untilSpread(t, 1, 1)
	c.open(t)
	for i, shards := range []int{4, 1} {
		rolled := c.worker(t, shards)
		rolled.proxy.ahead.Store(int64(-time.Hour))
		rolled.said.await(t, "Attempting to acquire leader lease")
		c.publish(t)
		for _, ahead := range []time.Duration{-time.Hour, time.Hour, 0} {
			old.proxy.ahead.Store(int64(ahead))
			rolled.proxy.ahead.Store(-int64(ahead))
			c.publish(t)
		}
		c.list(t)
		old.end(t, syscall.SIGTERM)
		c.untilSpread(t, shards, shards)
		c.untilPosted(t)
		old = rolled
		old.proxy.ahead.Store(int64(time.Hour) * int64(i+1))
		c.publish(t)
	}
	old.end(t, syscall.SIGTERM)
	c.check(t)
}

// R6.3: all Leases are deleted while two replicas work. Both go on with the shards that they have.
func TestReplicasGoOnWhenTheirLeasesAreDeleted(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "internal/shardlease tries it in a time of its own")
	c := newCountry(t)
	first := c.worker(t, 4)
	c.untilSpread(t, 4, 4)
	second := c.worker(t, 4)
	c.untilSpread(t, 4, 2, 2)
	c.open(t)
	for range 3 {
		if err := server.Client.DeleteAllOf(t.Context(), &coordinationv1.Lease{}, client.InNamespace(c.leases)); err != nil {
			t.Fatal(err)
		}
		c.list(t)
		c.untilSpread(t, 4, 2, 2)
		c.untilPosted(t)
	}
	c.workedOnByOne(t, first, second)
	first.end(t, syscall.SIGTERM)
	second.end(t, syscall.SIGTERM)
	c.check(t)
}

// ofLeases is a mood of an API server that does not like requests about Leases: of two writes of a Lease one is refused, each time with another reason, or
// its answer is lost.
func ofLeases() mood {
	var mu sync.Mutex
	writes := map[string]int{} // of each Lease: else the same one of several renewed in turn could be refused all the time
	return func(r *http.Request) (refused int, lost, broken bool) {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/leases") {
			return 0, false, false
		}
		mu.Lock()
		writes[r.URL.Path]++
		n := writes[r.URL.Path]
		mu.Unlock()
		if n%2 == 0 {
			return 0, false, false
		}
		codes := []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusGatewayTimeout, 0}
		code := codes[n/2%len(codes)]
		return code, code == 0, false
	}
}

// R4.4, R6.3: of two writes of a Lease one fails, for the replica that comes and the one that goes. Shards change hands all the same, and nothing is posted twice.
func TestShardsChangeHandsThoughEveryOtherWriteOfALeaseFails(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "internal/shardlease tries it in a time of its own")
	c := newCountry(t)
	first := c.kept(t, 4)
	first.proxy.setMood(ofLeases())
	c.untilSpread(t, 4, 4)
	c.open(t)
	second := c.kept(t, 4)
	second.proxy.setMood(ofLeases())
	c.list(t)
	c.untilSpread(t, 4, 2, 2)
	c.untilPosted(t)
	c.list(t)
	first.signal(t, syscall.SIGTERM)
	_ = first.wait(t)
	c.untilSpread(t, 4, 4)
	c.untilPosted(t)
	second.proxy.setMood(nil)
	c.publish(t)
	second.end(t, syscall.SIGTERM)
	c.check(t)
}

// holdPosts has all posts wait, and returns what lets them go on and when so many have come.
func (c *country) holdPosts(t *testing.T) (goOn func(), come func(n int)) {
	t.Helper()
	gate, asked := make(chan struct{}), make(chan struct{}, 1000)
	for _, room := range c.rooms {
		room.press.OnPost(func(pending *mastodontest.Pending) bool {
			select {
			case asked <- struct{}{}:
			default:
			}
			select {
			case <-gate:
			case <-pending.Request.Context().Done():
			}
			return false
		})
	}
	goOn = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(goOn)
	return goOn, func(n int) {
		t.Helper()
		late := time.After(patience)
		for range n {
			select {
			case <-asked:
			case <-late:
				t.Fatalf("waited %s in vain for %d posts", patience, n)
			}
		}
	}
}

// refusePosts has all posts be refused, and returns when each newest item waits for another try. Retries come after a few seconds.
func (c *country) refusePosts(t *testing.T) {
	t.Helper()
	for _, room := range c.rooms {
		room.patch(t, &v1alpha1.FeedDestination{ObjectMeta: named(room.namespace, "press")}, `{"spec":{"retry":{"initialDelay":"5s","maxDelay":"5s"}}}`)
		room.press.OnPost(func(pending *mastodontest.Pending) bool {
			pending.Answer(http.StatusServiceUnavailable, "text/html", "busy")
			return true
		})
	}
	c.list(t)
	for _, room := range c.rooms {
		room.until(t, room.listed, "refused", func(item *v1alpha1.FeedItem) bool {
			row := lifecycle.RowOf(item, "press")
			return row != nil && row.NextRetryTime != nil
		})
	}
}

// takePosts has all posts be taken again.
func (c *country) takePosts() {
	for _, room := range c.rooms {
		room.press.OnPost(nil)
	}
}

// R4.4, R6.3: a replica takes the shards of one that has posted meanwhile, while its own watches say nothing. By what it last saw the posts are due. It makes none
// of them again, and goes on when it sees what there is.
func TestWhoseWatchesAreSilentTakesShardsAndPostsNothingAgain(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "what is posted by a cache that is behind, other tests of claims show")
	c := newCountry(t)
	first := c.kept(t, 4)
	c.untilSpread(t, 4, 4)
	c.open(t)
	second := c.kept(t, 4)
	c.untilSpread(t, 4, 2, 2)
	first.forget()
	c.publish(t)
	ofFirst := first.namespaces()
	c.refusePosts(t)
	second.proxy.silent(true)
	c.takePosts()
	for _, room := range c.rooms {
		if slices.Contains(ofFirst, room.namespace) {
			room.until(t, room.listed, "posted", func(item *v1alpha1.FeedItem) bool { return item.Status.Phase == v1alpha1.PhaseProcessed })
		}
	}
	var asked sync.Map
	second.proxy.hear(func(r *http.Request) {
		for _, namespace := range ofFirst {
			if strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/") {
				asked.Store(namespace, true)
			}
		}
	})
	first.end(t, syscall.SIGTERM)
	c.untilSpread(t, 4, 4)
	apitest.Eventually(t, func(context.Context) error {
		for _, namespace := range ofFirst {
			if _, has := asked.Load(namespace); !has {
				return fmt.Errorf("it does nothing in %s", namespace)
			}
		}
		return nil
	})
	second.proxy.silent(false)
	c.untilPosted(t)
	c.publish(t)
	second.end(t, syscall.SIGTERM)
	c.check(t)
}

// R4.4, R6.3: a shard comes back to the replica that has given it up a moment before, with posts that wait for another try. They are made, once.
func TestAShardComesBackToWhoHasGivenItUp(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "TestShardsAreSpreadOverReplicasThatComeAndGo shows shards that change hands")
	c := newCountry(t)
	first := c.kept(t, 4)
	c.untilSpread(t, 4, 4)
	c.open(t)
	c.refusePosts(t)
	for range 2 {
		second := c.kept(t, 4)
		c.untilSpread(t, 4, 2, 2)
		second.end(t, syscall.SIGTERM)
		c.untilSpread(t, 4, 4)
	}
	c.takePosts()
	c.untilPosted(t)
	c.publish(t)
	first.end(t, syscall.SIGTERM)
	c.check(t)
}

// R4.4, R6.3: a replica is told to stop while it is giving up shards for another one, and has a call under way for each. It finishes them, ends as it was told to, and
// leaves no Lease.
func TestAReplicaIsStoppedWhileShardsChangeHands(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "TestShardsAreSpreadOverReplicasThatComeAndGo shows either by itself")
	c := newCountry(t)
	first := c.kept(t, 4)
	c.untilSpread(t, 4, 4)
	c.open(t)
	goOn, come := c.holdPosts(t)
	c.list(t)
	come(len(c.rooms))
	second := c.kept(t, 4)
	first.said.await(t, "Shard given up")
	first.signal(t, syscall.SIGTERM)
	if got := c.spread(t, 4); len(got) != 1 || got[0] != 4 {
		t.Errorf("replicas hold %v shards while calls are under way", got)
	}
	goOn()
	if err := first.wait(t); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if got := c.spread(t, 4); len(got) > 1 {
		t.Errorf("the one that has ended still holds shards: %v", got)
	}
	c.untilSpread(t, 4, 4)
	c.untilPosted(t)
	second.end(t, syscall.SIGTERM)
	c.untilSpread(t, 4)
	c.check(t)
}

// R4.4, R6.3: a second signal ends a replica at once, with calls under way. Its Leases run out, and what it had begun is not posted again.
func TestASecondSignalEndsAReplicaAtOnce(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "the matrix of exactly-once shows a replica that ends at once")
	c := newCountry(t)
	first := c.kept(t, 4)
	c.untilSpread(t, 4, 4)
	c.open(t)
	second := c.kept(t, 4)
	c.untilSpread(t, 4, 2, 2)
	goOn, come := c.holdPosts(t)
	c.list(t)
	come(len(c.rooms))
	first.signal(t, syscall.SIGTERM)
	first.said.await(t, `"msg":"Stopping and waiting for leader election runnables"}`) // of the program, and not of a shard that it gave up before
	first.signal(t, syscall.SIGTERM)
	if err := first.wait(t); err == nil || first.command.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	goOn()
	c.untilSpread(t, 4, 4)
	c.untilPosted(t)
	second.end(t, syscall.SIGTERM)
	c.check(t)
}

// R6.3: a replica is told to stop while the API server does not answer it. It ends all the same, and others go on when its Leases have run out.
func TestAReplicaIsStoppedWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "TestADeposedLeaderDoesNotPost shows a replica that the API server does not answer")
	c := newCountry(t)
	first := c.kept(t, 4)
	c.untilSpread(t, 4, 4)
	c.open(t)
	second := c.kept(t, 4)
	c.untilSpread(t, 4, 2, 2)
	first.proxy.setMood(func(*http.Request) (int, bool, bool) { return 0, false, true })
	first.signal(t, syscall.SIGTERM)
	_ = first.wait(t) // it may have ended for what it could not write, too
	c.untilSpread(t, 4, 4)
	c.publish(t)
	second.end(t, syscall.SIGTERM)
	c.check(t)
}
