// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// addQueueLog has logged how many items wait, and what becomes of them.
func addQueueLog(ctx context.Context, manager ctrl.Manager, clock clock.Clock) error {
	queue := telemetry.NewQueueLog(clock, manager.GetLogger())
	informer, err := manager.GetCache().GetInformer(ctx, &v1alpha1.FeedItem{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(queue); err != nil {
		return err
	}
	return manager.Add(queue)
}
