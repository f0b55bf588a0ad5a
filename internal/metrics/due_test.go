// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R5.3: an item is due when only the operator is waited for: neither a time, nor what a person has suspended, nor the pace of a destination.
func TestAnItemIsDueWhenOnlyTheOperatorIsWaitedFor(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(d))) }
	source := func(change func(*v1alpha1.FeedSource)) *v1alpha1.FeedSource {
		s := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "press", UID: types.UID("press")}}
		change(s)
		return s
	}
	destination := func(name string, change func(*v1alpha1.FeedDestination)) *v1alpha1.FeedDestination {
		d := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name}}
		change(d)
		return d
	}
	well := func(*v1alpha1.FeedDestination) {}
	suspended := func(d *v1alpha1.FeedDestination) { d.Spec.Suspend = true }
	paced := func(last time.Duration) func(*v1alpha1.FeedDestination) {
		return func(d *v1alpha1.FeedDestination) {
			d.Spec.MinInterval, d.Status.LastDeliveryTime = &metav1.Duration{Duration: 3 * time.Hour}, in(-last)
		}
	}
	cooling := func(until time.Duration) func(*v1alpha1.FeedDestination) {
		return func(d *v1alpha1.FeedDestination) {
			d.Status.Availability = &v1alpha1.Availability{State: "CoolingDown", Until: in(until)}
		}
	}
	queued := func(to string, next *metav1.Time) v1alpha1.Delivery {
		return v1alpha1.Delivery{Destination: to, State: v1alpha1.DeliveryQueued, NextRetryTime: next}
	}
	phase := func(phase v1alpha1.Phase, next *metav1.Time, rows ...v1alpha1.Delivery) func(*v1alpha1.FeedItem) {
		return func(item *v1alpha1.FeedItem) {
			item.Status.Phase, item.Status.NextRetryTime, item.Status.Deliveries = phase, next, rows
			if len(rows) > 0 {
				item.Status.Summary = &v1alpha1.Summary{}
			}
		}
	}
	for name, test := range map[string]struct {
		suspended    bool
		item         func(*v1alpha1.FeedItem)
		destinations []client.Object
		want         int
	}{
		"a new item": {item: phase(v1alpha1.PhaseUnprocessed, nil), want: 1},
		"a new item of a source that is suspended":     {item: phase(v1alpha1.PhaseUnprocessed, nil), suspended: true},
		"a retry that is still to come":                {item: phase(v1alpha1.PhaseDeferred, in(time.Minute))},
		"a retry whose time has come":                  {item: phase(v1alpha1.PhaseDeferred, in(-time.Second)), want: 1},
		"one that is processed":                        {item: phase(v1alpha1.PhaseProcessed, nil)},
		"one that has failed for good":                 {item: phase(v1alpha1.PhaseFailed, nil)},
		"a post to a destination that is ready":        {item: phase(v1alpha1.PhasePending, nil, queued("a", nil)), destinations: []client.Object{destination("a", well)}, want: 1},
		"a post to one that does not exist":            {item: phase(v1alpha1.PhasePending, nil, queued("a", nil)), want: 1},
		"a post that is retried later":                 {item: phase(v1alpha1.PhasePending, nil, queued("a", in(time.Hour))), destinations: []client.Object{destination("a", well)}},
		"a post to one that is suspended":              {item: phase(v1alpha1.PhasePending, nil, queued("a", nil)), destinations: []client.Object{destination("a", suspended)}},
		"a post between two posts":                     {item: phase(v1alpha1.PhasePending, nil, queued("a", nil)), destinations: []client.Object{destination("a", paced(2*time.Hour))}},
		"a post after that":                            {item: phase(v1alpha1.PhasePending, nil, queued("a", nil)), destinations: []client.Object{destination("a", paced(3*time.Hour))}, want: 1},
		"a post to one that has asked for a pause":     {item: phase(v1alpha1.PhasePending, nil, queued("a", nil)), destinations: []client.Object{destination("a", cooling(time.Hour))}},
		"a post after that pause":                      {item: phase(v1alpha1.PhasePending, nil, queued("a", nil)), destinations: []client.Object{destination("a", cooling(-time.Hour))}, want: 1},
		"posts to one that is ready, and to one other": {item: phase(v1alpha1.PhasePending, nil, queued("a", nil), queued("b", nil)), destinations: []client.Object{destination("a", suspended), destination("b", well)}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "one", CreationTimestamp: *in(-time.Hour)}}
			item.Spec.SourceRef = v1alpha1.SourceReference{Name: "press", UID: "press"}
			test.item(item)
			objects := append([]client.Object{item, source(func(s *v1alpha1.FeedSource) { s.Spec.Suspend = test.suspended })}, test.destinations...)
			same(t, gathered(t, New(), Now{}, objects...), "feed_operator_items_due", fmt.Sprintf("feed_operator_items_due %d", test.want))
		})
	}
}
