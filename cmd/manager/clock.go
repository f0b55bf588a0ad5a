// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/internal/apiclock"
)

// timekeeper keeps the operator's clock on the API server's time. It does so on every replica: one that stands by has the right time
// when it takes over.
type timekeeper struct {
	clock *apiclock.Clock
	ask   func(context.Context) error
}

// keepTime sets a clock that hears the manager's requests, and has it kept right while the manager runs. An API server that does not answer
// now will have answered before anything is done: nothing is done without it.
func keepTime(ctx context.Context, manager ctrl.Manager, clock *apiclock.Clock) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(manager.GetConfig(), manager.GetHTTPClient())
	if err != nil {
		return err
	}
	keeper := &timekeeper{clock: clock, ask: func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/version").Do(ctx).Error() // everybody may ask that, and who may not is told the time too
	}}
	clock.Ask(ctx, keeper.ask)
	return manager.Add(keeper)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *timekeeper) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (k *timekeeper) Start(ctx context.Context) error {
	k.clock.Keep(ctx, k.ask, func(ahead time.Duration) {
		ctrl.Log.WithName("clock").Info("Clock of this machine differs from the API server's, which is used",
			"apiServerAhead", ahead.Round(time.Second).String())
	})
	return nil
}
