// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// FeedItemReconciler works on items until they are processed or have failed for good.
type FeedItemReconciler struct {
	Clock clock.PassiveClock
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Recorder events.EventRecorder
	Schedule *schedule.Schedule
	Waker    *waker
	Articles *article.Fetcher
	// Providers makes the client of an AIProvider.
	Providers ProviderFactory
	// Builtin writes summaries where a source names no provider.
	Builtin provider.Provider
	// Workers is how many items are worked on at the same time at most.
	Workers int
}

// ProviderFactory makes what calls the service that an AIProvider describes.
type ProviderFactory func(*v1alpha1.AIProvider) (provider.Provider, error)

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeditems,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeditems/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks at what is recorded of an item, and does the first thing that is missing.
func (r *FeedItemReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	turn := r.Schedule.Enter(scheduleKey(itemKey, request.NamespacedName))
	defer turn.Leave()

	// The cache says whether there may be something to do; what is done follows from a live read.
	var cached v1alpha1.FeedItem
	if err := r.Client.Get(ctx, request.NamespacedName, &cached); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	step := lifecycle.Next(&cached, r.Clock.Now())
	if done, result := r.nothingToDo(&cached, step); done {
		return result, nil
	}
	source, err := sourceOf(ctx, r.Client, &cached)
	if err != nil || source == nil || source.Spec.Suspend {
		return ctrl.Result{}, err // a change of the source brings its items back
	}

	var item v1alpha1.FeedItem
	if err := r.Live.Get(ctx, request.NamespacedName, &item); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	step = lifecycle.Next(&item, r.Clock.Now())
	if done, result := r.nothingToDo(&item, step); done {
		return result, nil
	}
	switch step.Action {
	case lifecycle.Acknowledge:
		return ctrl.Result{}, r.acknowledge(ctx, &item)
	case lifecycle.Finish:
		return ctrl.Result{}, r.finish(ctx, &item, source)
	case lifecycle.Reset:
		if err := r.reset(ctx, &item, source); err != nil {
			return ctrl.Result{}, err
		}
	case lifecycle.Summarize, lifecycle.Rest, lifecycle.Wait:
	}
	return r.summarize(ctx, turn, &item, source)
}

// nothingToDo answers for items that are finished, going, or not due yet.
func (r *FeedItemReconciler) nothingToDo(item *v1alpha1.FeedItem, step lifecycle.Step) (bool, ctrl.Result) {
	switch {
	case !item.DeletionTimestamp.IsZero(), step.Action == lifecycle.Rest:
		return true, ctrl.Result{}
	case step.Action == lifecycle.Wait:
		return true, lookAgain(r.Clock.Now(), step.Until)
	}
	return false, ctrl.Result{}
}

// acknowledge notes a forced retry of an item that is done.
func (r *FeedItemReconciler) acknowledge(ctx context.Context, item *v1alpha1.FeedItem) error {
	return claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		item.Status.LastHandledRetry = lifecycle.Token(item)
		return true
	})
}

// reset makes an item due that a person wants to have tried again, and notes the token with it:
// should the attempt that follows be cut off, the item is still due, and the token used up.
func (r *FeedItemReconciler) reset(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
	revived := item.Terminal()
	err := claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		lifecycle.Release(item, lifecycle.PolicyOf(source), r.Clock.Now())
		return true
	})
	if err != nil {
		return err
	}
	if revived {
		telemetry.ItemRevived(r.Recorder, item)
	}
	ctrl.LoggerFrom(ctx).Info("Retry forced", "revived", revived)
	return nil
}

// finish ends an item that has everything but does not say so, because an attempt was cut off.
func (r *FeedItemReconciler) finish(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
	return claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		lifecycle.Complete(item, lifecycle.PolicyOf(source), r.Clock.Now())
		return true
	})
}
