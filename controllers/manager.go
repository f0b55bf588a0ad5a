// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// component is how the operator names itself in Events.
const component = "feed-operator"

// Options are what the controllers need beyond a manager.
type Options struct {
	Clock clock.WithDelayedExecution
	// Outbound is the only way to feeds and pages.
	Outbound *outbound.Client
	// Providers makes the client of an AIProvider.
	Providers ProviderFactory
	// Builtin writes summaries where a source names no provider.
	Builtin provider.Provider
	// ItemWorkers and PollWorkers are how many items are worked on, and feeds polled, at once at most.
	ItemWorkers, PollWorkers int
	// RequestsPerHost is how many requests to one host are under way at once at most.
	RequestsPerHost int
}

// Setup registers all controllers with a manager that was made with CacheOptions and ClientOptions.
func Setup(ctx context.Context, manager ctrl.Manager, options Options) error {
	return setup(ctx, manager, options, &waker{})
}

func setup(ctx context.Context, manager ctrl.Manager, options Options, waker *waker) error {
	if err := cacheKinds(ctx, manager.GetCache()); err != nil {
		return err
	}
	plan := schedule.New(options.Clock, waker.wake, map[schedule.Kind]schedule.Limit{
		schedule.KindHost: {Concurrent: options.RequestsPerHost},
	})
	plan.Configure(builtinResource, schedule.Limit{})

	items := &FeedItemReconciler{
		Clock:     options.Clock,
		Client:    manager.GetClient(),
		Live:      manager.GetAPIReader(),
		Recorder:  manager.GetEventRecorder(component),
		Schedule:  plan,
		Waker:     waker,
		Articles:  article.NewFetcher(options.Outbound),
		Providers: options.Providers,
		Builtin:   options.Builtin,
		Workers:   options.ItemWorkers,
	}
	sources := &FeedSourceReconciler{
		Clock:    options.Clock,
		Client:   manager.GetClient(),
		Live:     manager.GetAPIReader(),
		Recorder: manager.GetEventRecorder(component),
		Schedule: plan,
		Waker:    waker,
		Outbound: options.Outbound,
		Workers:  options.PollWorkers,
	}
	providers := &AIProviderReconciler{
		Clock:    options.Clock,
		Client:   manager.GetClient(),
		Live:     manager.GetAPIReader(),
		Recorder: manager.GetEventRecorder(component),
		Schedule: plan,
	}
	retention := &RetentionReconciler{Clock: options.Clock, Client: manager.GetClient()}

	if err := indexItems(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	for _, controller := range []interface{ SetupWithManager(ctrl.Manager) error }{items, sources, providers, retention} {
		if err := controller.SetupWithManager(manager); err != nil {
			return err
		}
	}
	return manager.Add(&seeder{reconciler: items, synced: manager.GetCache().WaitForCacheSync})
}
