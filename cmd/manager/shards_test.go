// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/shard"
)

// country is some newsrooms, each in a namespace of its own, for which several replicas work.
type country struct {
	rooms []*newsroom
	// leases is the namespace of the Leases.
	leases string
}

// newCountry has so many newsrooms that there is one in each of four shards.
func newCountry(t *testing.T) *country {
	t.Helper()
	c := &country{leases: server.Namespace(t)}
	for covered := map[int]bool{}; len(covered) < 4 || len(c.rooms) < 6; {
		room := newNewsroom(t, counterparts[ignoresKeys])
		c.rooms = append(c.rooms, room)
		covered[shard.Of(room.namespace, 4)] = true
	}
	return c
}

// worker starts a replica, whose work can be watched.
func (c *country) worker(t *testing.T, shards int, flags ...string) *worker {
	t.Helper()
	return c.workerBy(t, startWith, shards, flags...)
}

// kept is worker for one that is started again when it ends by itself.
func (c *country) kept(t *testing.T, shards int, flags ...string) *worker {
	t.Helper()
	return c.workerBy(t, keepWith, shards, flags...)
}

func (c *country) workerBy(t *testing.T, start func(*testing.T, []byte, string, ...string) *process, shards int, flags ...string) *worker {
	t.Helper()
	r := &worker{proxy: newAPIProxy(t), wrote: map[string]int{}}
	r.proxy.hear(r.note)
	flags = append(flags, "--leader-elect", "--leader-election-namespace="+c.leases, fmt.Sprintf("--shards=%d", shards), "--allow-http")
	for _, room := range c.rooms[1:] {
		flags = append(flags, "--namespace="+room.namespace)
	}
	r.process = start(t, r.proxy.kubeconfig, c.rooms[0].namespace, flags...)
	return r
}

// worker is a process of several, and what it has written of items.
type worker struct {
	*process
	proxy *apiProxy
	mu    sync.Mutex
	wrote map[string]int // by namespace
}

func (r *worker) note(request *http.Request) {
	path := strings.Split(request.URL.Path, "/")
	if request.Method == http.MethodGet || !strings.Contains(request.URL.Path, "/feeditems") {
		return
	}
	if at := slices.Index(path, "namespaces"); at > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wrote[path[at+1]]++
	}
}

// forget begins to note anew what the replica writes.
func (r *worker) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.wrote)
}

// namespaces are those in which the replica has written since.
func (r *worker) namespaces() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.wrote))
}

// spread is how many shards each replica holds, of so many shards.
func (c *country) spread(t *testing.T, shards int) (each []int) {
	t.Helper()
	by := map[string]int{}
	for lease, holder := range c.holders(t) {
		if _, of, _ := shard.ParseLeaseName(lease); of == shards {
			by[holder]++
		}
	}
	return slices.Sorted(maps.Values(by))
}

// holders is who holds which shard.
func (c *country) holders(t *testing.T) map[string]string {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := server.Client.List(t.Context(), &leases, client.InNamespace(c.leases)); err != nil {
		t.Fatal(err)
	}
	holders := map[string]string{}
	for i := range leases.Items {
		if _, _, is := shard.ParseLeaseName(leases.Items[i].Name); is {
			if holder := leases.Items[i].Spec.HolderIdentity; holder != nil && *holder != "" {
				holders[leases.Items[i].Name] = *holder
			}
		}
	}
	return holders
}

// untilSpread waits until so many replicas hold so many shards each.
func (c *country) untilSpread(t *testing.T, shards int, want ...int) {
	t.Helper()
	slices.Sort(want)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		got := c.spread(t, shards)
		if slices.Equal(got, want) {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s in vain: replicas hold %v of %d shards, want %v", patience, got, shards, want)
		}
	}
}

// open adds the feed of each newsroom, with an entry.
func (c *country) open(t *testing.T) {
	t.Helper()
	for _, room := range c.rooms {
		room.addFeed(t)
	}
	c.untilPosted(t)
}

// list lists another entry in each newsroom, and has the feeds polled.
func (c *country) list(t *testing.T) {
	t.Helper()
	for _, room := range c.rooms {
		room.listed++
		room.web.List(room.entries()...)
		room.patch(t, &v1alpha1.FeedSource{ObjectMeta: named(room.namespace, "news")},
			fmt.Sprintf(`{"metadata":{"annotations":{%q:"poll-%d"}}}`, v1alpha1.AnnotationPoll, room.listed))
	}
}

// untilPosted waits until the newest entries have been posted.
func (c *country) untilPosted(t *testing.T) {
	t.Helper()
	for _, room := range c.rooms {
		room.until(t, room.listed, "posted", func(item *v1alpha1.FeedItem) bool { return item.Status.Phase == v1alpha1.PhaseProcessed })
	}
}

// publish lists another entry in each newsroom, and waits until it is posted.
func (c *country) publish(t *testing.T) {
	t.Helper()
	c.list(t)
	c.untilPosted(t)
}

// check checks that each entry was posted once.
func (c *country) check(t *testing.T) {
	t.Helper()
	for _, room := range c.rooms {
		for entry := 1; entry <= room.listed; entry++ {
			if posts := room.posts(entry); len(posts) != 1 {
				t.Errorf("%d posts of entry %d of %s (shard %d of 4): %+v", len(posts), entry, room.namespace, shard.Of(room.namespace, 4), posts)
			}
		}
	}
}

// workedOnByOne publishes something, and checks that in each namespace one replica has worked, and each replica in some.
func (c *country) workedOnByOne(t *testing.T, replicas ...*worker) {
	t.Helper()
	by := map[string][]int{}
	restarts := func() (count int) {
		for _, r := range replicas {
			count += r.restarts()
		}
		return count
	}
	for before, again := restarts(), true; again; { // where one was started again meanwhile, others have worked for it
		clear(by)
		for _, r := range replicas {
			r.forget()
		}
		c.publish(t)
		for i, r := range replicas {
			for _, namespace := range r.namespaces() {
				by[namespace] = append(by[namespace], i)
			}
		}
		now := restarts()
		before, again = now, now != before
	}
	for _, room := range c.rooms {
		if who := by[room.namespace]; len(who) != 1 {
			t.Errorf("replicas %v have worked in %s, of shard %d", who, room.namespace, shard.Of(room.namespace, 4))
		}
	}
}

// R6.3: shards are spread evenly over the replicas as these come, stop and crash; each namespace is worked on by one of them, and nothing is lost or
// done twice when it changes hands.
func TestShardsAreSpreadOverReplicasThatComeAndGo(t *testing.T) {
	t.Parallel()
	c := newCountry(t)
	first := c.kept(t, 4)
	c.untilSpread(t, 4, 4)
	c.open(t)

	second := c.kept(t, 4)
	c.untilSpread(t, 4, 2, 2)
	c.workedOnByOne(t, first, second)

	third := c.kept(t, 4)
	c.list(t) // while shards change hands
	c.untilSpread(t, 4, 2, 1, 1)
	c.untilPosted(t)
	c.workedOnByOne(t, first, second, third)

	c.list(t)
	first.end(t, syscall.SIGTERM)
	c.untilSpread(t, 4, 2, 2)
	c.untilPosted(t)
	c.workedOnByOne(t, second, third)

	c.list(t)
	second.end(t, syscall.SIGKILL)
	c.untilSpread(t, 4, 4)
	c.untilPosted(t)
	c.workedOnByOne(t, third)
	third.end(t, syscall.SIGTERM)
	c.untilSpread(t, 4)
	c.check(t)
}

// R6.3: the number of shards is changed as a rollout does it: new replicas start while old ones run, and the old ones stop one after the other. Those of
// one number work at a time; nothing is lost, and nothing posted twice.
func TestTheNumberOfShardsIsChangedByARollout(t *testing.T) {
	portion.Whole(t, "TestShardsAreSpreadOverReplicasThatComeAndGo shows shards that change hands")
	t.Parallel()
	c := newCountry(t)
	old := []*worker{c.kept(t, 1), c.kept(t, 1)}
	c.untilSpread(t, 1, 1)
	c.open(t)
	numbers := []int{1, 4, 2}
	for i, shards := range numbers[1:] {
		before := numbers[i]
		rolled := make([]*worker, len(old))
		for i := range old {
			rolled[i] = c.kept(t, shards)
			rolled[i].said.await(t, "Attempting to acquire leader lease")
			c.publish(t)
			if one, other := c.spread(t, before), c.spread(t, shards); len(one) > 0 && len(other) > 0 {
				t.Errorf("%v of %d shards are held while %v of %d are", one, before, other, shards)
			}
			c.list(t)
			old[i].end(t, syscall.SIGTERM)
			c.untilPosted(t)
		}
		if held := c.spread(t, before); len(held) > 0 {
			t.Errorf("%v of %d shards are still held", held, before)
		}
		c.untilSpread(t, shards, shards/2, shards/2)
		c.workedOnByOne(t, rolled...)
		old = rolled
	}
	c.check(t)
}

// R4.4, R6.3: who was frozen while the number of shards was changed finds, when it wakes, its own Lease unchanged: nobody else wants that one any more. It
// ends all the same, and does not post.
func TestALeaderOfAnotherNumberOfShardsDoesNotPost(t *testing.T) {
	t.Parallel()
	for _, numbers := range portion.SomeOf([][2]int{{1, 4}, {4, 2}}, 1) {
		t.Run(fmt.Sprint(numbers), func(t *testing.T) {
			t.Parallel()
			room := newNewsroom(t, mastodontest.Options{TokenMayRead: true, Keys: mastodontest.IgnoresKeys, Version: mastodontest.GoToSocial})
			with := func(shards int) []string {
				return []string{"--leader-elect", "--leader-election-namespace=" + room.namespace, fmt.Sprintf("--shards=%d", shards)}
			}
			first := room.observed(t, with(numbers[0])...)
			wake := freezeAtClaim(t, room, first, room.open)
			room.noteInterruption(t)

			second := room.manager(t, with(numbers[1])...)
			room.untilEnding(t, posted)
			wake()
			if err := first.wait(t); err == nil {
				t.Error("the first manager ended as if it had been told to, though others hold the shards")
			}
			room.publishNext(t)
			second.end(t, syscall.SIGTERM)
			room.check(t, posted)
		})
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// R4.4, R6.3: two replicas work on the same shards, each of which thinks that it holds the Leases: what one has claimed the other leaves alone. Here they do so
// all the time, because they look for their Leases in different namespaces.
func TestTwoThatWorkOnOneShardPostOnce(t *testing.T) {
	portion.Whole(t, "a leader that is deposed, and goes on beside its successor, is tried with less")
	t.Parallel()
	c := newCountry(t)
	for _, room := range c.rooms { // whoever posts takes its time
		room.press.OnPost(func(*mastodontest.Pending) bool {
			time.Sleep(100 * time.Millisecond)
			return false
		})
	}
	first := c.kept(t, 4)
	c.untilSpread(t, 4, 4)
	there := &country{rooms: c.rooms, leases: server.Namespace(t)}
	second := there.kept(t, 4)
	there.untilSpread(t, 4, 4)
	c.open(t)
	for range 4 {
		c.publish(t)
	}
	for _, one := range []*worker{first, second} {
		if len(one.namespaces()) == 0 {
			t.Error("one of two has done nothing: that shows little")
		}
		one.end(t, syscall.SIGTERM)
	}
	c.check(t)
}
