// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// UntilStopped has the errors of a reconciler count only until it is to stop. What is cut off by that is no failure: there may be hundreds at once, nobody
// can do anything about them, and whoever comes next reads everything anew.
func UntilStopped(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if ctx.Err() == nil {
			return result, err
		}
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Cut off by the stop", "err", err.Error())
		}
		return ctrl.Result{}, nil
	})
}
