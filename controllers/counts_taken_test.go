// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.4, R5.1: an operator is frozen in the call to post, and another one takes over, finds the post, writes that down and counts it. The first one wakes,
// and does not count it again.
func TestAPostThatAnotherOperatorHasFoundIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	var call gate
	wake := call.close(t)
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Commit()
		call.pass(p.Request)
		return false
	})
	w.oneItem("press")
	await(t, call.isHeld)

	item := w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent)) // what the other one writes
	post := server.Posts()[0]
	found := item.DeepCopy()
	row := &found.Status.Deliveries[0]
	row.State, row.ID, row.URL, row.NextRetryTime = v1alpha1.DeliveryDone, post.ID, server.URL+"/@press/"+post.ID, nil
	row.Time = &metav1.Time{Time: row.NotAfter.Add(31 * time.Second)}
	found.Status.Phase = v1alpha1.PhaseProcessed
	if err := w.client.Status().Patch(t.Context(), found, client.MergeFrom(item)); err != nil {
		t.Fatal(err)
	}
	counted := w.untilDestination("press", isOpen)
	before := counted.DeepCopy()
	counted.Status.Delivered, counted.Status.CountsToken = 1, "of-the-other-one"
	counted.Status.LastDeliveryTime = row.Time
	if err := w.client.Status().Patch(t.Context(), counted, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	wake()
	w.restart() // what was counted is written then
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered != 1 || len(server.Posts()) != 1 {
			t.Errorf("%d delivered of %d posts", d.Status.Delivered, len(server.Posts()))
		}
		return nil
	})
}
