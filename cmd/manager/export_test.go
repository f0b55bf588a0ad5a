// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/netip"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

// NewProcess makes what a process has once, for so many shards of some namespaces, and what makes the operator of each.
func NewProcess(
	ctx context.Context, config *rest.Config, shards int, namespaces ...string,
) (process ctrl.Manager, operator func(ctx context.Context, index int) (ctrl.Manager, error), err error) {
	flags := &flags{shards: shards, namespaces: namespaces, metricsAddress: "0", probeAddress: "0"}
	now := apiclock.New(clock.RealClock{})
	process, shared, err := newManager(config, flags)
	if err != nil {
		return nil, nil, err
	}
	if err := controllers.Prepare(ctx, process); err != nil {
		return nil, nil, err
	}
	out := outbound.New(outbound.Config{
		UserAgent: "feed-operator/test", AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, Now: now.Now,
	})
	all, err := newShards(process, shared, flags, controllers.Options{
		Clock: now, Outbound: out, Providers: connect.Providers(out), Destinations: connect.Destinations(out), Builtin: extractive.New(),
		Namespaces: namespaces, ItemWorkers: 2, PollWorkers: 2, RequestsPerHost: 2, Metrics: metrics.New(),
	})
	if err != nil {
		return nil, nil, err
	}
	return process, func(ctx context.Context, index int) (ctrl.Manager, error) { return all.newOperator(ctx, index, nil) }, nil
}
