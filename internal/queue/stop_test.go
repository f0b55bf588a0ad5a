// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"context"
	"errors"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/internal/queue"
)

// R5.5: what a stop cuts off is no error in the log; everything else is.
func TestWhatAStopCutsOffIsNoError(t *testing.T) {
	t.Parallel()
	failed := errors.New("etcdserver: leader changed")
	r := queue.UntilStopped(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		return ctrl.Result{}, errors.Join(failed, ctx.Err())
	}))
	ctx, stop := context.WithCancel(t.Context())
	if _, err := r.Reconcile(ctx, ctrl.Request{}); !errors.Is(err, failed) {
		t.Errorf("while it works: %v", err)
	}
	stop()
	if _, err := r.Reconcile(ctx, ctrl.Request{}); err != nil {
		t.Errorf("when it stops: %v", err)
	}
}
