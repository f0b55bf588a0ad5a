// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/posting"
)

// R4.4: a post is claimed when it is due, and where the source wants it; otherwise there is no intent, and so no call.
func TestAPostIsClaimedWhenItIsDueAndWanted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	to := func(names ...string) *v1alpha1.FeedSource {
		source := &v1alpha1.FeedSource{}
		for _, name := range names {
			source.Spec.Destinations = append(source.Spec.Destinations, v1alpha1.DestinationReference{Name: name, AlreadyPosted: v1alpha1.AlreadyPostedAgain})
		}
		return source
	}
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(after)} }
	queued := v1alpha1.Delivery{Destination: "press", State: v1alpha1.DeliveryQueued, Key: "key"}
	for name, test := range map[string]struct {
		row    v1alpha1.Delivery
		source *v1alpha1.FeedSource
		want   bool
		state  v1alpha1.DeliveryState
	}{
		"due":                           {queued, to("press"), true, v1alpha1.DeliveryIntent},
		"due since a minute":            {withNext(queued, at(-time.Minute)), to("press"), true, v1alpha1.DeliveryIntent},
		"due in a minute":               {withNext(queued, at(time.Minute)), to("press"), false, v1alpha1.DeliveryQueued},
		"not wanted any more":           {queued, to("other"), false, v1alpha1.DeliveryDropped},
		"suspended, or not to be found": {queued, nil, false, v1alpha1.DeliveryQueued},
		"posted already": {
			v1alpha1.Delivery{Destination: "press", State: v1alpha1.DeliveryDone, Key: "key"}, to("press"), false, v1alpha1.DeliveryDone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := &Engine{Clock: clocktesting.NewFakeClock(now)}
			item := &v1alpha1.FeedItem{Status: v1alpha1.FeedItemStatus{
				Phase: v1alpha1.PhasePending, Summary: &v1alpha1.Summary{Text: "A summary."}, Deliveries: []v1alpha1.Delivery{test.row},
			}}
			got := engine.claimPost(item, test.source, &post{Line: &posting.Line{Destination: "press", Timeout: 30 * time.Second}}, nil, now)
			row := item.Status.Deliveries[0]
			if got != test.want || row.State != test.state {
				t.Errorf("claimed: %t, it is %s; want %t and %s", got, row.State, test.want, test.state)
			}
			if diff := cmp.Diff(test.row, row); !test.want && test.state == test.row.State && diff != "" {
				t.Errorf("it was changed: %s", diff)
			}
		})
	}
}

func withNext(row v1alpha1.Delivery, next *metav1.Time) v1alpha1.Delivery {
	row.NextRetryTime = next
	return row
}
