// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// Settle writes down what an attempt came to.
func (r *Results) Settle(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, outcome lifecycle.Outcome) (ctrl.Result, error) {
	return r.RequeueAfterWrite(r.WriteOutcome(ctx, item, source, outcome))
}

// RequeueAfterWrite returns when to look again at an item that was written, or that was not (nil): then somebody
// else was first, or the answer of the API server was lost though it has written it, or what is known is kept.
func (r *Results) RequeueAfterWrite(written *v1alpha1.FeedItem, err error) (ctrl.Result, error) {
	now := r.Clock.Now()
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if written != nil {
		if done, result := r.NothingToDo(written, lifecycle.Next(written, now)); done {
			return result, nil
		}
	}
	return queue.RequeueAt(now, now), nil
}

// WriteOutcome writes down what an attempt came to, whatever happened to the item meanwhile, and
// reports it once it is written. It returns the item as it is then, or nil if the outcome does
// not belong on it any more, or is kept because the API server does not take it.
func (r *Results) WriteOutcome(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
	outcome lifecycle.Outcome,
) (*v1alpha1.FeedItem, error) {
	outcome.RetryRequests = retry.RequestsFor(context.WithoutCancel(ctx), r.Client, item, outcome.ProviderFailures...)
	return r.WriteResult(ctx, item, &attemptResult{
		results: r, source: source, began: item.DeepCopy(), outcome: outcome, at: r.Clock.Now(), trace: tracing.ID(ctx),
	})
}

// Now is the time, as statuses hold it.
func (r *Results) Now() metav1.Time { return metav1.NewTime(r.Clock.Now()) }

// endedAlready reports whether an item has ended as this outcome ends it: most likely the API server took
// that, and only its answer was lost. It is good for telling of it, and for nothing more: it may
// have been another operator, and no right to post follows from it.
func endedAlready(began, live *v1alpha1.FeedItem, outcome lifecycle.Outcome, source *v1alpha1.FeedSource, now time.Time) bool {
	expected := began.DeepCopy()
	lifecycle.Settle(expected, outcome, backoff.Of(source), now.Truncate(time.Second)) // as the API keeps it
	return live.Terminal() && lifecycle.SameAttempt(expected, live)
}

// Failed is the outcome of an attempt that ended with an error.
func Failed(item *v1alpha1.FeedItem, err error, stage v1alpha1.Stage, object string,
	reason v1alpha1.Reason, now metav1.Time,
) lifecycle.Outcome {
	return lifecycle.Outcome{
		Token:      lifecycle.Token(item),
		Failure:    failure.Record(err, stage, object, now.Time),
		Reason:     reason,
		RetryAfter: failure.Classify(err).RetryAfter,
	}
}

// NothingToDo answers for items that are finished, going, or not due yet.
func (r *Results) NothingToDo(item *v1alpha1.FeedItem, step lifecycle.Step) (bool, ctrl.Result) {
	switch {
	case !item.DeletionTimestamp.IsZero(), step.Action == lifecycle.Rest:
		return true, ctrl.Result{}
	case step.Action == lifecycle.Wait:
		return true, queue.RequeueAt(r.Clock.Now(), step.Until)
	}
	return false, ctrl.Result{}
}

// noteUnread notes that an item has more to do at once, as it was written just now, or by somebody else where it is nil. The cache may show it as it
// was before for a moment: then it would wait for what is over.
func (r *Results) noteUnread(item, written *v1alpha1.FeedItem) {
	if written != nil {
		if done, _ := r.NothingToDo(written, lifecycle.Next(written, r.Clock.Now())); done {
			return
		}
	}
	r.unread.Store(client.ObjectKeyFromObject(item), true)
}

// TakeUnread reports, once, whether an item may have more to do than the cache knows, so that it has to be read.
func (r *Results) TakeUnread(name types.NamespacedName) bool {
	_, unread := r.unread.LoadAndDelete(name)
	return unread
}

// MarkWaitingFor writes on an item that is parked what it waits for.
func (r *Results) MarkWaitingFor(ctx context.Context, item *v1alpha1.FeedItem, reasons []string) error {
	if action := lifecycle.Next(item, r.Clock.Now()).Action; action == lifecycle.Rest || action == lifecycle.Wait {
		return nil // its retry was requested, and it stays as it is until its turn comes
	}
	now, held, why := r.Clock.Now(), false, strings.Join(reasons, "; ")
	err := record.Claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		held = lifecycle.Hold(item, "Waits for "+why, now)
		return held
	})
	if err == nil && held {
		r.Stream.ItemWaits(item, why, now)
	}
	return err
}

// WakeAt brings an item back at a time; not at the zero time.
func (r *Results) WakeAt(item *v1alpha1.FeedItem, at time.Time) {
	if at.IsZero() {
		return
	}
	key := queue.Key(queue.ItemKey, client.ObjectKeyFromObject(item))
	// In a goroutine of its own, because a fake clock calls back while it holds its lock.
	r.Clock.AfterFunc(at.Sub(r.Clock.Now()), func() {
		go func() {
			r.Waker.Wake(key)
			if at.After(r.Clock.Now()) { // the clock was set back meanwhile: it may not have been the time
				r.WakeAt(item, at)
			}
		}()
	})
}
