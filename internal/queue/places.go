// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// The places at which items are worked on, feeds polled, services asked about themselves, and events sent. Whoever waits for the
// network holds one all the time, in a reconcile and apart from it. So nobody can hold more of them than the turns at them
// allow (schedule.Sharing), and no more work is under way than there are places, whatever hangs.
//
// The queues of the controllers know no turns: a key that has no place is parked at once, and looked at again when
// it has one. For that the controllers have a few workers more than there are places.
var (
	ItemPlaces             = schedule.Resource{Kind: schedule.KindWork, Name: "items"}
	PollPlaces             = schedule.Resource{Kind: schedule.KindWork, Name: "polls"}
	ProviderCheckPlaces    = schedule.Resource{Kind: schedule.KindWork, Name: "checks of providers"}
	DestinationCheckPlaces = schedule.Resource{Kind: schedule.KindWork, Name: "checks of destinations"}
	// ProviderLookPlaces and those after it are where the API server is asked about services, their Secrets and their batches, and where finished items are
	// removed: it may not answer for one namespace.
	ProviderLookPlaces    = schedule.Resource{Kind: schedule.KindWork, Name: "looks at providers"}
	DestinationLookPlaces = schedule.Resource{Kind: schedule.KindWork, Name: "looks at destinations"}
	BatchLookPlaces       = schedule.Resource{Kind: schedule.KindWork, Name: "looks at batches"}
	RetentionPlaces       = schedule.Resource{Kind: schedule.KindWork, Name: "retention"}
	// EventPlaces are where events of items are sent: apart from the items, which never wait for that.
	EventPlaces = schedule.Resource{Kind: schedule.KindWork, Name: "events"}
)

// LimitOf is how many items are worked on at once, where one source is given so many; and how many feeds are polled, where those of
// one kind (PollOwner) are.
func LimitOf(workers int) schedule.Limit {
	return schedule.Limit{Concurrent: workers, Sharing: schedule.ByGroup}
}

// LimitOfChecks is how many services of one kind are asked about themselves at once: one may be slow.
var LimitOfChecks = schedule.Limit{Concurrent: 8, Sharing: schedule.ByTenant}

// LimitOfLooks is how many services of one kind, or destinations with batches, are looked at at once. It is more than are asked about themselves, which
// takes a look too.
var LimitOfLooks = schedule.Limit{Concurrent: 2 * LimitOfChecks.Concurrent, Sharing: schedule.ByTenant}

// LimitOfRetention is of how many sources finished items are removed at once: the others' have time.
var LimitOfRetention = schedule.Limit{Concurrent: 4, Sharing: schedule.ByTenant}

// LimitOfEvents is how many events are on their way at once: each destination gets one after the other.
var LimitOfEvents = schedule.Limit{Concurrent: 8, Sharing: schedule.ByTenant}

// WorkersFor is how many workers a controller has: one for each place, and some for those who find none.
func WorkersFor(limit schedule.Limit) int {
	const parking = 16
	return limit.Slots() + parking
}

// Options are those of a controller with so many workers.
func (w *Waker) Options(workers int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: workers, RateLimiter: RateLimiter(), NewQueue: w.NewQueue}
}

// longestRequeueDelay is the longest wait before a key is looked at again after an error. Most errors are those of an API server that
// is away: what it holds up should not be held up for a quarter of an hour after that, as it would be by default.
const longestRequeueDelay = time.Minute

// RateLimiter returns when a key comes back after an error: at once, and then twice as late each time.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, longestRequeueDelay)
}

// ItemOwner is for whom an item is worked on: its source.
func ItemOwner(item *v1alpha1.FeedItem) schedule.Owner {
	return schedule.Owner{Tenant: item.Namespace, Group: item.Spec.SourceRef.Name}
}

// PollOwner is for whom a source is polled. A source is polled once at a time, so that turns by source would come to
// nothing: forty that hang would still be forty. Hence those that failed the last time have their turns as one, those that
// were never polled as another, and the others as a third.
func PollOwner(source *v1alpha1.FeedSource) schedule.Owner {
	group := "well"
	switch {
	case source.Status.ConsecutiveFailures > 0:
		group = "failing"
	case source.Status.LastPollTime == nil:
		group = "new"
	}
	return schedule.Owner{Tenant: source.Namespace, Group: group}
}

// Only is a chain of one resource.
func Only(place schedule.Resource) []schedule.Resource { return []schedule.Resource{place} }
