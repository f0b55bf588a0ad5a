// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// acceptRetryRequest notes that a person wants all deferred and failed items of a source to be tried again,
// also of one that is suspended: then they are tried when that ends.
func (r *Reconciler) acceptRetryRequest(ctx context.Context, source *v1alpha1.FeedSource) error {
	asked := retry.Request{Token: retry.Token(source), Last: source.Status.LastHandledRetry}
	if !asked.IsNew() {
		return nil
	}
	if err := asked.Concern(ctx, r.Client, source); err != nil {
		return err
	}
	now := r.Clock.Now()
	err := r.write(ctx, source, func(live *v1alpha1.FeedSource) {
		asked.Note(live, &live.Status.LastHandledRetry, &live.Status.RetryRequestedTime, now)
	})
	if err != nil || !asked.Noted {
		return err
	}
	telemetry.RetryRequested(r.Recorder, source, asked.Items)
	ctrl.LoggerFrom(ctx).Info("Retry requested", "items", asked.Items)
	return nil
}
