// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// Servers, by what they allow and what they do with a key that was used before.
const (
	readable          = "honours keys"
	ignoresKeys       = "ignores keys"
	failsReplay       = "fails a replay"
	unreadable        = "cannot be read, honours keys"
	unreadableIgnores = "cannot be read, ignores keys"
	unreadableFails   = "cannot be read, fails a replay"
)

// settleTime is how long after the end of a call nobody may look for its post or make it again.
const settleTime = 30 * time.Second

// counterparts are the servers that are posted to.
var counterparts = map[string]mastodontest.Options{
	readable:          {TokenMayRead: true},
	ignoresKeys:       {TokenMayRead: true, Keys: mastodontest.IgnoresKeys, Version: mastodontest.GoToSocial},
	failsReplay:       {TokenMayRead: true, Keys: mastodontest.FailsReplay},
	unreadable:        {},
	unreadableIgnores: {Keys: mastodontest.IgnoresKeys, Version: mastodontest.GoToSocial},
	unreadableFails:   {Keys: mastodontest.FailsReplay},
}

// ending is what becomes of an item.
type ending struct {
	posts  int
	state  v1alpha1.DeliveryState
	phase  v1alpha1.Phase
	reason v1alpha1.Reason
}

var posted = ending{1, v1alpha1.DeliveryDone, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone}

// uncertain is left to a person: the posts that there are are not known to the operator.
func uncertain(posts int) ending {
	return ending{posts, v1alpha1.DeliveryDead, v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain}
}

// unsettled is sent again while the key is trusted, and each time answered with an error.
var unsettled = ending{1, v1alpha1.DeliveryIntent, v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed}

// unlucky are the instants and servers at which nobody can know. Everywhere else it is posted.
var unlucky = map[[2]string]ending{
	{afterTheClaim, unreadableIgnores}:    uncertain(0),
	{frozenAfterClaim, unreadableIgnores}: uncertain(0),
	{killedInTheCall, unreadableIgnores}:  uncertain(1),
	{frozenInTheCall, unreadableIgnores}:  uncertain(1),
	{afterTheCall, unreadableIgnores}:     uncertain(1),
	{killedInTheCall, unreadableFails}:    unsettled,
	{frozenInTheCall, unreadableFails}:    unsettled,
	{afterTheCall, unreadableFails}:       unsettled,
}

// unlike are those of the unlucky of which no two end alike. The others are left to the whole.
var unlike = [][2]string{{afterTheClaim, unreadableIgnores}, {frozenInTheCall, unreadableIgnores}, {killedInTheCall, unreadableFails}}

// R4.4, R2.8: wherever the manager is killed, stopped or frozen, and whatever the server does with
// keys, there is one post of the item, and a result on it; only where the server can be neither
// asked nor trusted it is left to a person, with one post at most.
func TestAnItemIsPostedOnceWhateverHappensToTheManager(t *testing.T) {
	t.Parallel()
	for instant, interrupt := range interruptions {
		some := portion.Across(instant, interruptions, counterparts)
		for counterpart, options := range counterparts {
			if _, is := some[counterpart]; !is && !slices.Contains(unlike, [2]string{instant, counterpart}) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", instant, counterpart), func(t *testing.T) {
				t.Parallel()
				want, known := unlucky[[2]string{instant, counterpart}]
				if !known {
					want = posted
				}
				room := newNewsroom(t, options)
				first := room.observed(t)
				wake := interrupt(t, room, first)
				room.noteInterruption(t)

				second := room.manager(t)
				room.untilEnding(t, want)
				if wake != nil { // the worst case: both act
					wake()
					room.publishNext(t)
					first.end(t, syscall.SIGTERM) // after that it is sure not to post any more
				}
				second.end(t, syscall.SIGKILL)
				room.check(t, want)

				if want.state == v1alpha1.DeliveryIntent {
					room.letTheKeyExpire(t)
					want = uncertain(want.posts)
				}
				third := room.manager(t)
				room.untilEnding(t, want)
				room.publishNext(t)
				third.end(t, syscall.SIGTERM)
				room.check(t, want)
				// Where it can be looked up, and where only one may act, nobody leaves it to the key.
				if requests := room.press.Count("POST /api/v1/statuses"); (options.TokenMayRead || instant == frozenAfterClaim) && requests != len(room.press.Posts()) {
					t.Errorf("%d requests to post", requests)
				}
				if asked := room.web.Hits("/articles/news-1"); instant != beforeTheClaim && asked != 1 {
					t.Errorf("the summary was worked out %d times", asked)
				}
			})
		}
	}
}

// R4.4, R6.3: a leader that was frozen between its claim and its call does not post once it has
// been replaced.
func TestADeposedLeaderDoesNotPost(t *testing.T) {
	t.Parallel()
	room := newNewsroom(t, counterparts[ignoresKeys])
	elected := []string{"--leader-elect", "--leader-election-namespace=" + room.namespace}
	first := room.observed(t, elected...)
	wake := freezeAtClaim(t, room, first, room.open)
	room.noteInterruption(t)

	second := room.manager(t, elected...)
	room.untilEnding(t, posted)
	wake()
	if err := first.wait(t); err == nil {
		t.Error("the first manager ended as if it had been told to, though it was replaced")
	}
	room.publishNext(t)
	second.end(t, syscall.SIGTERM)
	room.check(t, posted)
}

// R4.4, R2.8: an answer of the API server that is lost costs time, and no post. Nobody restarts the
// manager for that.
func TestAnItemIsPostedOnceWhenAnAnswerOfTheAPIServerIsLost(t *testing.T) {
	t.Parallel()
	for _, state := range []v1alpha1.DeliveryState{v1alpha1.DeliveryIntent, v1alpha1.DeliveryDone} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			room := newNewsroom(t, counterparts[ignoresKeys])
			room.proxy.loseAnswer(state)
			manager := room.observed(t)
			room.open(t)
			room.untilEnding(t, posted)
			room.publishNext(t)
			manager.end(t, syscall.SIGTERM)
			room.check(t, posted)
		})
	}
}

// noteInterruption notes until when nobody may post the first item: somebody may be in the call.
func (n *newsroom) noteInterruption(t *testing.T) {
	t.Helper()
	row := lifecycle.RowOf(n.item(t, 1), "press")
	if row != nil && row.State == v1alpha1.DeliveryIntent && len(n.posts(1)) == 0 {
		n.notBefore = row.NotAfter.Add(settleTime)
	}
}

// untilEnding waits until the first item has come to its end.
func (n *newsroom) untilEnding(t *testing.T, want ending) {
	t.Helper()
	n.until(t, 1, fmt.Sprintf("%+v", want), func(item *v1alpha1.FeedItem) bool {
		row := lifecycle.RowOf(item, "press")
		return row != nil && row.State == want.state && item.Status.Phase == want.phase && item.Status.Reason == want.reason
	})
}

// check compares the posts of all items, and what is recorded of the first, with what should be.
func (n *newsroom) check(t *testing.T, want ending) {
	t.Helper()
	found := n.posts(1)
	if len(found) != want.posts {
		t.Fatalf("%d posts, want %d: %+v", len(found), want.posts, found)
	}
	for entry := 2; entry <= n.listed; entry++ {
		if others := n.posts(entry); len(others) != 1 {
			t.Errorf("%d posts of entry %d: %+v", len(others), entry, others)
		}
	}
	item := n.item(t, 1)
	row := lifecycle.RowOf(item, "press")
	if row.State != want.state || item.Status.Phase != want.phase || item.Status.Reason != want.reason || item.Status.Summary == nil {
		t.Fatalf("the item is %+v, want %+v", item.Status, want)
	}
	for _, post := range found {
		if post.Key != row.Key {
			t.Errorf("key %q, recorded is %q", post.Key, row.Key)
		}
		const exact = 2 * time.Second // is how well the operator knows the API server's time
		if post.CreatedAt.Before(n.notBefore.Add(-exact)) {
			t.Errorf("posted at %s, while another might have been posting it, until %s", post.CreatedAt, n.notBefore)
		}
	}
	switch want.state {
	case v1alpha1.DeliveryDone:
		url := n.press.URL + "/@feeds/" + found[0].ID
		if row.ID != found[0].ID || row.URL != url || row.Time == nil || row.NextRetryTime != nil {
			t.Errorf("delivery %+v, want the post %s", row, url)
		}
		if row.Failure != nil || item.Status.Failure != nil || item.Status.NextRetryTime != nil {
			t.Errorf("what is left of the interruption: %+v, %+v", row.Failure, item.Status)
		}
	case v1alpha1.DeliveryDead:
		for _, failed := range []*v1alpha1.Failure{row.Failure, item.Status.Failure} {
			if failed == nil || failed.Type != lifecycle.TypeUncertain || failed.Message == "" {
				t.Errorf("failure %+v", failed)
			}
		}
		if row.NextRetryTime != nil || row.URL != "" {
			t.Errorf("delivery %+v", row)
		}
	case v1alpha1.DeliveryIntent:
		if row.Failure == nil || row.Failure.HTTPStatus != http.StatusInternalServerError || row.FailedAttempts != 1 || row.NextRetryTime == nil {
			t.Errorf("delivery %+v", row)
		}
	case v1alpha1.DeliveryQueued, v1alpha1.DeliveryDropped, v1alpha1.DeliveryAlreadyPosted:
		t.Errorf("%s is no ending", want.state)
	}
}

// letTheKeyExpire makes the first attempt so long ago that no server knows its key any more.
func (n *newsroom) letTheKeyExpire(t *testing.T) {
	t.Helper()
	item := n.item(t, 1)
	before := item.DeepCopy()
	row := lifecycle.RowOf(item, "press")
	row.FirstAttemptTime = &metav1.Time{Time: row.FirstAttemptTime.Add(-time.Hour)}
	row.NextRetryTime = nil
	if err := server.Client.Status().Patch(t.Context(), item, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
