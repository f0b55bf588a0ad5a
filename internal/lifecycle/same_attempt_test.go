// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// R2.8, R4.4: an attempt goes on where it began, and nowhere else: two operators that work on one item, because one of them was deposed
// and does not know it, do not both write what they have come to. Each of these is all that tells them apart.
func TestSameAttemptLooksAtEverythingThatAnAttemptChanges(t *testing.T) {
	t.Parallel()
	failedBefore := func() *v1alpha1.FeedItem {
		item := newItem()
		for range usual.MaxRetries + 1 {
			lifecycle.Settle(item, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true)}, usual, created)
		}
		token("again")(item)
		lifecycle.RetryNow(item, usual, created)
		return item
	}
	for name, change := range map[string]func(*v1alpha1.FeedItem){
		"an attempt after a release has failed, which leaves phase and count as they are": func(item *v1alpha1.FeedItem) {
			lifecycle.Settle(item, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true)}, usual, created.Add(time.Minute))
			if item.Status.Phase != v1alpha1.PhaseDeferred || item.Status.RetryCount != 0 {
				t.Fatalf("%s with %d retries: this does not test what it should", item.Status.Phase, item.Status.RetryCount)
			}
		},
		"it is another item of the same name": func(item *v1alpha1.FeedItem) { item.UID = "another" },
		"it has a summary":                    func(item *v1alpha1.FeedItem) { item.Status.Summary = &v1alpha1.Summary{Text: "x"} },
		"it has ended":                        func(item *v1alpha1.FeedItem) { item.Status.Phase = v1alpha1.PhaseFailed },
		"it was retried":                      func(item *v1alpha1.FeedItem) { item.Status.RetryCount++ },
		"it was checked":                      func(item *v1alpha1.FeedItem) { item.Status.LastCheckTime = &metav1.Time{Time: created.Add(time.Hour)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, live := failedBefore(), failedBefore()
			if !lifecycle.SameAttempt(began, live) {
				t.Fatal("nothing has changed, and it is not the same")
			}
			if change(live); lifecycle.SameAttempt(began, live) {
				t.Errorf("it goes unnoticed: %+v", live.Status)
			}
		})
	}
}
