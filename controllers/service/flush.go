// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// FinalCounters writes the counters when the operator stops, also those of calls that end while it does.
type FinalCounters struct {
	Services     *services.Services
	Providers    *AIProviders
	Destinations *FeedDestinations
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (l *FinalCounters) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *FinalCounters) Start(ctx context.Context) error {
	<-ctx.Done()
	unwritten := l.Services.Stop(func(id schedule.Resource) { _ = l.write(ctx, id) })
	record.Last(ctx, unwritten, func(id schedule.Resource) string { return queue.Named(id.Name).Namespace }, l.write)
	return nil
}

func (l *FinalCounters) write(ctx context.Context, id schedule.Resource) error {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	switch id.Kind {
	case schedule.KindProvider:
		return l.Providers.flush(ctx, id, queue.Named(id.Name))
	case schedule.KindDestination:
		return l.Destinations.flush(ctx, id, queue.Named(id.Name))
	case schedule.KindHost, schedule.KindNetwork, schedule.KindWork, schedule.KindWrites, schedule.KindChange:
	}
	return nil
}
