// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// patient lets a call last as long as the API allows.
func patient(described *v1alpha1.FeedDestination) {
	described.Spec.Timeout = &metav1.Duration{Duration: 5 * time.Minute}
}

// R4.5: a destination that is down does not hold back another of the same item, and what was posted
// there is not repeated when the first one works again.
func TestADestinationThatIsDownHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	down, fine := w.mastodon(ignoresKeys), w.mastodon(ignoresKeys)
	net := newNetwork(t, down)
	w.openDestination("down", net.URL)
	w.openDestination("fine", fine.URL)
	net.cut()
	w.oneItem("down", "fine")
	w.untilItem("news", inState("fine", v1alpha1.DeliveryDone))
	item := w.untilItem("news", hasFailed("down", 1))
	if item.Status.Phase != v1alpha1.PhaseDeferred || item.Status.NextRetryTime == nil {
		t.Errorf("status %+v", item.Status)
	}
	net.heal()
	item = &w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(item); err != nil {
		t.Error(err)
	}
	if len(down.Posts()) != 1 || len(fine.Posts()) != 1 {
		t.Errorf("posts %+v and %+v", down.Posts(), fine.Posts())
	}
}

// R4.5: any dead delivery makes the item Failed, but only after all have ended.
func TestADeadDeliveryDoesNotEndTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refuses, slow := w.mastodon(), w.mastodon()
	refuses.OnPost(func(p *mastodontest.Pending) bool { p.Answer(422, "application/json", `{"error":"no"}`); return true })
	slow.OnPost(func(p *mastodontest.Pending) bool { p.Reset(); return true })
	w.openDestination("refuses", refuses.URL)
	w.openDestination("slow", slow.URL)
	w.oneItem("refuses", "slow")
	w.untilItem("news", inState("refuses", v1alpha1.DeliveryDead))
	item := w.untilItem("news", hasFailed("slow", 1))
	if item.Terminal() {
		t.Errorf("ended as %s/%s while a delivery is open", item.Status.Phase, item.Status.Reason)
	}
	slow.OnPost(nil)
	item = &w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration)(item); err != nil {
		t.Error(err)
	}
	if len(slow.Posts()) != 1 {
		t.Errorf("posts %+v", slow.Posts())
	}
	refuses.OnPost(nil)
	w.retry(item.Name, "again")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if len(slow.Posts()) != 1 || len(refuses.Posts()) != 1 {
		t.Errorf("posts %+v and %+v", refuses.Posts(), slow.Posts())
	}
}

// R3.13, R4.5: a destination that hangs holds up neither the items of others nor the other
// deliveries of its own items, where both are free when the calls begin.
func TestADestinationThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hangs, fine := w.mastodon(), w.mastodon()
	w.openDestination("hangs", hangs.URL, patient, func(d *v1alpha1.FeedDestination) { d.Spec.MaxConcurrent = new(int32(100)) })
	w.openDestination("fine", fine.URL, func(d *v1alpha1.FeedDestination) { d.Spec.MaxConcurrent = new(int32(100)) })
	hangs.OnPost(func(p *mastodontest.Pending) bool { p.Hang(); return true })
	for name, destinations := range map[string][]string{"stuck": {"hangs"}, "both": {"hangs", "fine"}} {
		web := feedtest.New(t)
		web.List(web.Entries(name, 15)...)
		w.source(name, web.FeedURL(), postsTo(destinations...))
	}
	w.untilItems("both", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if err := inState("fine", v1alpha1.DeliveryDone)(&items[i]); err != nil {
				return err
			}
			if err := inState("hangs", v1alpha1.DeliveryIntent)(&items[i]); err != nil {
				return err
			}
		}
		return hasItems(15)(items)
	})
	if len(hangs.Posts()) != 0 {
		t.Errorf("posts %+v", hangs.Posts())
	}
	web := feedtest.New(t)
	web.List(web.Entries("quick", 15)...)
	w.source("quick", web.FeedURL(), postsTo("fine"))
	w.untilItems("quick", allProcessed(15))
	if posts := fine.Posts(); len(posts) != 30 {
		t.Errorf("%d posts, want 30", len(posts))
	}
	hangs.Close()
}
