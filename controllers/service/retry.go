// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// clearPauses forgets, once for each token, why a service is not to be called now: its cool-down, its
// quota, its circuit. What had been refused is asked about again, with what there is now.
func (r *Reconciler[T, P, C]) clearPauses(id schedule.Resource, found P) {
	asked := retry.Request{Token: retry.Token(found), Last: found.Service().LastHandledRetry}
	if asked.IsNew() {
		r.Services.Clear(id, asked.Token)
	}
}

// reportRetry reports a retry once it is written down.
func (r *Reconciler[T, P, C]) reportRetry(ctx context.Context, found P, asked retry.Request) {
	telemetry.RetryRequested(r.Recorder, found, asked.Items)
	ctrl.LoggerFrom(ctx).Info("Retry requested", "items", asked.Items)
}
