// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
)

// Seeder opens the schedule after a start: first everybody who waits is in line, then the first
// is let through. Else those would go first whom the cache happens to list first.
type Seeder struct {
	Reconciler *Reconciler
	Synced     func(context.Context) bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *Seeder) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (s *Seeder) Start(ctx context.Context) error {
	if !s.Synced(ctx) {
		return ctx.Err()
	}
	r := s.Reconciler
	items, err := itemcache.UnfinishedOf(ctx, r.Client, metav1.NamespaceAll, itemcache.AnySource)
	if err != nil {
		return err
	}
	for i := range items {
		if err := s.seed(ctx, &items[i]); err != nil {
			return err
		}
	}
	r.Schedule.Open()
	return nil
}

// seed puts one item in line for what it needs, if it is due. Which page it needs shows later. Nothing is granted before the
// schedule is open.
func (s *Seeder) seed(ctx context.Context, item *v1alpha1.FeedItem) error {
	action := s.Reconciler.next(ctx, item).Action
	if action != lifecycle.Summarize && action != lifecycle.Deliver {
		return nil
	}
	r := s.Reconciler
	source, err := itemcache.SourceOf(ctx, r.Client, item)
	if err != nil || source == nil || source.Spec.Suspend {
		return err
	}
	turn := r.Schedule.Enter(queue.Key(queue.ItemKey, client.ObjectKeyFromObject(item)))
	defer turn.Leave()
	if action == lifecycle.Deliver {
		r.Deliveries.StandInAllLines(ctx, turn, item)
		return nil
	}
	return r.Attempts.QueueForProviders(ctx, turn, item, source)
}
