// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// lastWords writes the counters when the operator stops, also those of calls that end while it does.
type lastWords struct {
	services     *services.Services
	providers    *AIProviderReconciler
	destinations *FeedDestinationReconciler
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (l *lastWords) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *lastWords) Start(ctx context.Context) error {
	<-ctx.Done()
	for _, id := range l.services.Stop(func(id schedule.Resource) { l.write(ctx, id) }) {
		l.write(ctx, id)
	}
	return nil
}

func (l *lastWords) write(ctx context.Context, id schedule.Resource) {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	switch id.Kind {
	case schedule.KindProvider:
		l.providers.flush(ctx, id, queue.Named(id.Name))
	case schedule.KindDestination:
		l.destinations.flush(ctx, id, queue.Named(id.Name))
	case schedule.KindHost, schedule.KindNetwork, schedule.KindWork, schedule.KindWrites:
	}
}
