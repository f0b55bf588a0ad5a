// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/web"
)

const (
	// countsInterval is how often the counts of a source's items are written by themselves at most.
	countsInterval = time.Minute
	// firstReportDelay is how long the report of a first poll waits at most for its items to settle.
	firstReportDelay = 5 * time.Second
	// secretInterval is how often a Secret that is missing or wrong is looked at again.
	secretInterval = 30 * time.Second
	// redoInterval is after which a poll is made again whose result the API server did not take;
	// it doubles up to the source's own interval.
	redoInterval = 30 * time.Second
)

// Reconciler polls feeds, and makes an item of each new entry.
type Reconciler struct {
	Clock clock.PassiveClock
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Writes is shared with the controller of items.
	Writes   *itemwrites.Writes
	Recorder events.EventRecorder
	Stream   telemetry.Stream
	Schedule *schedule.Schedule
	Web      *web.Web
	Waker    *queue.Waker
	Outbound *outbound.Client
	// Names is shared with the controller of items.
	Names *itemcache.FeedNames
	// Fresh is shared with the controller of items.
	Fresh   *itemcache.Fresh
	Metrics *metrics.Metrics
	// Recordable knows whether what comes of a poll can be written down.
	Recordable *crdcheck.Checker
	// Workers is how many feeds of one namespace are polled at the same time at most (queue.LimitOf).
	Workers int

	states sourceStates
	tally  itemcache.Tally
}

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feedsources,verbs=get;list;watch
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feedsources/status,verbs=patch
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feedmemories,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Reconcile polls a source when it is due, and keeps the counts on its status current.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	turn := r.Schedule.Enter(queue.Key(queue.SourceKey, request.NamespacedName))
	defer turn.Leave()

	var source v1alpha1.FeedSource
	if err := r.Client.Get(ctx, request.NamespacedName, &source); err != nil {
		if gone := client.IgnoreNotFound(err) == nil; gone {
			r.states.forget(request.NamespacedName)
			r.Names.Forget(request.NamespacedName)
			r.tally.Forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Status.Title != "" {
		r.Names.Forget(request.NamespacedName)
	}
	if !source.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if err := r.acceptRetryRequest(ctx, &source); err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	watch := r.states.of(&source, now)
	watch.Lock()
	defer watch.Unlock()
	watch.correctTimes(now)
	if err := r.checkNotifications(ctx, &source); err != nil {
		return ctrl.Result{}, err
	}

	r.checkWrites(ctx, &source, watch)
	if notPolled, result, err := r.notPolled(ctx, &source, watch, now); notPolled {
		return result, err
	}
	host := outbound.HostOf(source.Spec.URL)
	due := watch.due(&source, r.Web.NetworkBack(source.Namespace, host), now)
	if due.After(now) {
		return r.count(ctx, &source, watch, due, nil)
	}
	rank := schedule.Rank{Class: queue.ClassPolls, Time: due, Name: request.String(), Owner: queue.PollOwner(&source)}
	if watch.urgent(&source) {
		rank.Class = queue.ClassUrgent
	}
	tickets, free := turn.AcquireAll(rank, web.Needs(queue.PollPlaces, source.Namespace, host)...)
	if !free { // woken when it is its turn, the host is free, and the network is up
		return r.count(ctx, &source, watch, time.Time{}, nil)
	}
	next, err := r.poll(ctx, &source, watch, r.Web.VisitOf(tickets, source.Namespace, host))
	return r.count(ctx, &source, watch, next, err)
}

// notPolled reports whether a source is not to be polled as it is, and writes why on it.
func (r *Reconciler) notPolled(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, now time.Time) (bool, ctrl.Result, error) {
	if source.Spec.Suspend {
		result, err := r.count(ctx, source, watch, time.Time{}, r.suspend(ctx, source))
		return true, result, err
	}
	if outdated := r.Recordable.Why(crdcheck.KindSource, crdcheck.KindMemory, crdcheck.KindItem); outdated != "" {
		watch.redo = now // once it can be
		return true, ctrl.Result{}, r.writeReadiness(ctx, source, conditions.Readiness{Reason: v1alpha1.ReasonCRDOutdated, Stalled: true, Message: outdated})
	}
	if watch.lastPoll.IsZero() && conditions.Ready(source.Status.Conditions).Reason == v1alpha1.ReasonCRDOutdated {
		watch.redo = now // an operator before this one could not
	}
	var refused error
	switch invalid := watch.checkFilters(source); {
	case ended(source):
	case secrets.SentInClear(source):
		refused = r.writeReadiness(ctx, source, conditions.Readiness{
			Reason: v1alpha1.ReasonInsecureCredentials, Stalled: true, Message: derive.InsecureCredentials,
		})
	case invalid != nil:
		refused = r.writeReadiness(ctx, source, filtersInvalid(invalid))
	default:
		return false, ctrl.Result{}, nil
	}
	result, err := r.count(ctx, source, watch, time.Time{}, refused)
	return true, result, err
}

// ended reports whether the feed is gone for good, and nobody has changed anything since.
func ended(source *v1alpha1.FeedSource) bool {
	stalled := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == v1alpha1.ReasonFeedGone &&
		source.Status.ObservedGeneration == source.Generation && !derive.PollForced(source)
}

// suspend reports on the source that it is not polled.
func (r *Reconciler) suspend(ctx context.Context, source *v1alpha1.FeedSource) error {
	generation := source.Generation
	return r.write(ctx, source, func(source *v1alpha1.FeedSource) {
		source.Status.ObservedGeneration = generation
		setSourceReady(source, conditions.Readiness{Reason: v1alpha1.ReasonSuspended, Message: "Suspended: the feed is not polled and its items wait"}, r.Clock.Now())
	})
}

// count brings the counts on the status up to date, not more often than countsInterval. It reports when the source is to be looked at
// again: at its next poll, or when the counts may be written.
func (r *Reconciler) count(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, next time.Time, err error) (ctrl.Result, error) {
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	next = polling.Together(next)
	settled := r.tally.Settled(source)
	if watch.firstReport == nil && watch.counts(source) == r.tally.Of(source) && !watch.todayUnreported() {
		if settled {
			watch.countsStaleSince = time.Time{}
		}
		return queue.RequeueAt(now, next), nil
	}
	if from := watch.nextCountsWrite(settled); now.Before(from) {
		return queue.RequeueAt(now, queue.Earliest(next, from)), nil
	}
	if err := r.writeCounts(ctx, source, watch, now); err != nil {
		return ctrl.Result{}, err
	}
	if watch.countsStaleSince = now; settled {
		watch.countsStaleSince = time.Time{}
	}
	return queue.RequeueAt(now, next), nil
}

// writeCounts writes the counts, with the time of the last poll that had news: such a one may write nothing else. What there is to say of a
// first poll is written with them, unless something else was said of the source meanwhile: then it is polled again.
func (r *Reconciler) writeCounts(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, now time.Time) error {
	first, write := watch.firstReport, r.write
	if watch.countsWritten = now; first != nil {
		write = r.transition
	}
	err := r.writeCounted(ctx, source, watch, write, func(source *v1alpha1.FeedSource) bool {
		if first != nil && source.Status.Format != "" {
			watch.counters.Write(&source.Status, source.Status.Items)
			return false // another operator has said what there was to say, and has counted since
		}
		if first != nil && unreported(source) && source.Generation == first.generation {
			first.apply(source)
		}
		last := source.Status.LastPollTime
		if last != nil && (watch.lastNews.After(last.Time) || !watch.lastNews.IsZero() && !believable.Past(last.Time, now)) &&
			source.Status.ConsecutiveFailures == 0 {
			source.Status.LastPollTime, source.Status.LastSuccessTime = &metav1.Time{Time: watch.lastNews}, &metav1.Time{Time: watch.lastNews}
		}
		return true
	})
	if err == nil {
		watch.firstReport = nil
	}
	return err
}

// writeCounted writes a change of the status, if there is one, and the counts with it.
func (r *Reconciler) writeCounted(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState,
	write func(context.Context, *v1alpha1.FeedSource, func(*v1alpha1.FeedSource)) error, change func(*v1alpha1.FeedSource) bool,
) error {
	today, counted := polling.Intake{}, false
	err := write(ctx, source, func(source *v1alpha1.FeedSource) {
		today = polling.Intake{}
		if counted = change(source); counted {
			if today = watch.today; today.Created > 0 {
				source.Status.ItemsToday = itemsToday(today)
			}
			watch.counters.Write(&source.Status, r.tally.Of(source))
		}
	})
	if err != nil {
		return err
	}
	watch.reportedToday = cmp.Or(today, watch.reportedToday)
	watch.written, watch.counted = source.Status.Items, true
	return nil
}

// write changes the status, on the live object if the cached one has become old; nothing of a source that is gone.
func (r *Reconciler) write(ctx context.Context, source *v1alpha1.FeedSource, change func(*v1alpha1.FeedSource)) error {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	return client.IgnoreNotFound(record.Write(ctx, r.Client, r.Live, source, func(live *v1alpha1.FeedSource) bool {
		change(live)
		return true
	}))
}
