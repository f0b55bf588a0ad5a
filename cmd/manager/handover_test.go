// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/shard"
)

// R4.4, R5.5, R6.3: of two replicas the one that works goes in the midst of many items, while posts are on their way and a fourth of them fails: it is told to
// stop, killed, frozen, or cut off from the API server. The other does the rest. Nothing is lost, and nothing is posted twice, also when the first one wakes.
func TestAReplicaGoesInTheMidstOfManyItems(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "the matrix of exactly-once shows it for one item")
	const items = 80 // for each way to go, one after the other; `make bench` does it with a thousand
	for name, leave := range map[string]func(*testing.T, *newsroom, *process){
		"told to stop": func(t *testing.T, _ *newsroom, p *process) { t.Helper(); p.signal(t, syscall.SIGTERM) },
		"killed":       func(t *testing.T, _ *newsroom, p *process) { t.Helper(); p.signal(t, syscall.SIGKILL) },
		"frozen":       func(t *testing.T, _ *newsroom, p *process) { t.Helper(); p.signal(t, syscall.SIGSTOP) },
		"cut off": func(t *testing.T, n *newsroom, _ *process) {
			t.Helper()
			n.proxy.setMood(func(*http.Request) (int, bool, bool) { return 0, false, true })
			n.proxy.silent(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			takesAll := counterparts[ignoresKeys]
			takesAll.PostsPerWindow = 100 * items // what it says of its limit is what the operator keeps to
			room := newNewsroom(t, takesAll)
			room.patch(t, &v1alpha1.FeedDestination{ObjectMeta: named(room.namespace, "press")},
				`{"spec":{"maxConcurrent":8,"minInterval":"0s","retry":{"initialDelay":"1s","maxDelay":"5s"}}}`)
			cue := room.failOnCue(items / 4)
			flags := []string{"--leader-elect", "--leader-election-namespace=" + room.namespace, "--requests-per-host=1000"}
			first := room.observed(t, flags...)
			room.untilReady(t, metav1.ConditionTrue)
			other := keepWith(t, server.Kubeconfig, room.namespace, append(flags, "--allow-http")...)
			room.openMany(t, items)

			cue.await(t, cue.reached)
			holder := room.holder(t.Context(), t)
			leave(t, room, first)
			cue.goOn()
			room.untilHeldByAnother(t, holder)
			cue.await(t, cue.next())
			if name == "frozen" {
				first.signal(t, syscall.SIGCONT)
			}
			if err := first.wait(t); (err == nil) != (name == "told to stop") {
				t.Errorf("the first replica, %s, has ended: %v", name, err)
			}
			if name == "told to stop" && strings.Contains(first.said.String(), `"Reconciler error"`) { // R5.5: what the stop cuts off is no error
				t.Error("the log of an orderly stop has errors")
			}
			room.untilProcessed(t)
			other.end(t, syscall.SIGTERM)
			room.checkAll(t, cue)
		})
	}
}

// cue is when something is to happen in the midst of posts.
type cue struct {
	reached chan struct{} // closed with the post that it is
	goOn    func()        // lets posts be answered that came since
	gate    chan struct{}

	mu        sync.Mutex
	asked, at int
	seen      map[string]bool
	failed    map[string]int // by what was wrong
	another   chan struct{}  // closed with the next post
}

// failOnCue has every fourth post fail, once, in one of four ways in turn; and posts wait from the one on that is the cue, until they may go on.
func (n *newsroom) failOnCue(at int) *cue {
	c := &cue{
		at: at, reached: make(chan struct{}), gate: make(chan struct{}), another: make(chan struct{}), seen: map[string]bool{}, failed: map[string]int{},
	}
	c.goOn = sync.OnceFunc(func() { close(c.gate) })
	n.press.OnPost(func(pending *mastodontest.Pending) bool {
		fault := c.fault(pending.Post.Text)
		switch fault {
		case "broken after", "failed after":
			pending.Commit()
		}
		switch fault {
		case "broken before", "broken after":
			pending.Reset()
		case "failed before", "failed after":
			pending.Answer(http.StatusServiceUnavailable, "text/plain", "down for maintenance")
		}
		return fault != ""
	})
	return c
}

// fault counts a post, and says what is wrong with it; empty for nothing.
func (c *cue) fault(text string) (fault string) {
	c.mu.Lock()
	c.asked++
	number, again := c.asked, c.seen[text]
	c.seen[text] = true
	if number%4 == 0 && !again {
		fault = []string{"broken before", "broken after", "failed before", "failed after"}[number/4%4]
		c.failed[fault]++
	}
	if number == c.at {
		close(c.reached)
	}
	close(c.another)
	c.another = make(chan struct{})
	c.mu.Unlock()
	if number >= c.at {
		<-c.gate
	}
	return fault
}

// next is closed with the next post.
func (c *cue) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.another
}

// await waits for an event.
func (c *cue) await(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(patience):
		t.Fatalf("waited %s in vain for the next post", patience)
	}
}

// holder is who holds the Lease of the newsroom's shard; empty for nobody.
func (n *newsroom) holder(ctx context.Context, t *testing.T) string {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := server.Client.List(ctx, &leases, client.InNamespace(n.namespace)); err != nil {
		t.Error(err)
	}
	for i := range leases.Items {
		if _, _, is := shard.ParseLeaseName(leases.Items[i].Name); is && leases.Items[i].Spec.HolderIdentity != nil {
			return *leases.Items[i].Spec.HolderIdentity
		}
	}
	return ""
}

// untilHeldByAnother waits until a replica holds the Lease that is not the one that has held it.
func (n *newsroom) untilHeldByAnother(t *testing.T, before string) {
	t.Helper()
	apitest.Eventually(t, func(ctx context.Context) error {
		if holder := n.holder(ctx, t); holder == "" || holder == before {
			return fmt.Errorf("the Lease is held by %q", holder)
		}
		return nil
	})
}

// openMany adds a feed with so many entries, all of which are to be posted.
func (n *newsroom) openMany(t *testing.T, entries int) {
	t.Helper()
	n.listed = entries
	n.web.List(n.entries()...)
	source := &v1alpha1.FeedSource{ObjectMeta: named(n.namespace, "news")}
	source.Spec.URL = n.web.FeedURL()
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}}
	source.Spec.InitialItems, source.Spec.MaxActiveItems, source.Spec.MaxItemsPerDay = new(int32(1000)), new(int32(10_000)), new(int32(10_000))
	if err := server.Client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
}

// untilProcessed waits until all items are processed, of which there is one for each entry.
func (n *newsroom) untilProcessed(t *testing.T) {
	t.Helper()
	apitest.Eventually(t, func(ctx context.Context) error {
		all, done := n.count(ctx, t), n.count(ctx, t, client.MatchingFields{"status.phase": string(v1alpha1.PhaseProcessed)})
		if all != n.listed || done != n.listed {
			return fmt.Errorf("%d of %d items are processed, there are %d", done, n.listed, all)
		}
		return nil
	})
}

func (n *newsroom) count(ctx context.Context, t *testing.T, options ...client.ListOption) int {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedItemList"))
	if err := server.Client.List(ctx, list, append(options, client.InNamespace(n.namespace))...); err != nil {
		t.Log(err)
	}
	return len(list.Items)
}

// checkAll checks that each entry was posted once, and that posts have failed in each way.
func (n *newsroom) checkAll(t *testing.T, c *cue) {
	t.Helper()
	posts := map[string]int{}
	for _, post := range n.press.Posts() {
		for word := range strings.FieldsSeq(post.Text) {
			posts[word]++
		}
	}
	for entry := 1; entry <= n.listed; entry++ {
		if found := posts[n.link(entry)]; found != 1 {
			t.Errorf("%d posts of entry %d", found, entry)
		}
	}
	if all := len(n.press.Posts()); all != n.listed {
		t.Errorf("%d posts of %d entries", all, n.listed)
	}
	if len(c.failed) != 4 {
		t.Errorf("posts have failed in these ways only: %v", c.failed)
	}
	t.Logf("posts that failed: %v", c.failed)
}
