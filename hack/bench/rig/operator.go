// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// The operator's own defaults, but for the requests to one host (see Feeds).
const (
	itemWorkers     = 128
	pollWorkers     = 32
	requestsPerHost = 1000
)

// FeedsOnOneHost is the flags that let the operator's program poll Feeds as the operator in this process does: many at once, and one right after the other.
var FeedsOnOneHost = []string{fmt.Sprintf("--requests-per-host=%d", requestsPerHost), "--host-interval=0"}

// loopback is all that the operator may reach, beside the public addresses that nothing here names.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// Operator is one that works inside this process, on one namespace.
type Operator struct {
	manager ctrl.Manager
	cancel  context.CancelFunc
	ended   chan error
}

// StartOperator starts an operator as cmd/manager does, with a clock and a summarizer of ours.
func StartOperator(ctx context.Context, p *Plane, namespace string, clock clock.WithDelayedExecution, builtin provider.Provider) (*Operator, error) {
	manager, err := ctrl.NewManager(p.config, ctrl.Options{
		Scheme:     p.scheme,
		Cache:      controllers.CacheOptions(namespace),
		Client:     controllers.ClientOptions(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{EnableWarmup: new(true), SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	counted, registry := metrics.New(), prometheus.NewRegistry()
	tracer, err := p.observers.tracer(ctx)
	if err != nil {
		return nil, err
	}
	out := outbound.New(outbound.Config{UserAgent: "feed-operator/bench", AllowCIDRs: []netip.Prefix{loopback}, AllowHTTP: true})
	err = controllers.Setup(ctx, manager, controllers.Options{
		Clock:           clock,
		Outbound:        out,
		Providers:       connect.Providers(out),
		Destinations:    connect.Destinations(out),
		Builtin:         builtin,
		ItemWorkers:     itemWorkers,
		PollWorkers:     pollWorkers,
		RequestsPerHost: requestsPerHost,
		InPlace:         backoff.DefaultInPlace,
		Metrics:         counted,
		Registry:        registry,
		Tracer:          tracer,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &Operator{manager: manager, cancel: cancel, ended: make(chan error, 1)}
	go p.observers.scrape(ctx, registry)
	go func() { o.ended <- manager.Start(ctx) }()
	return o, nil
}

// UntilUp waits until the operator has read what there is, and works.
func (o *Operator) UntilUp(ctx context.Context) error {
	select {
	case <-o.manager.Elected(): // it runs without election: this is when its work begins
	case <-ctx.Done():
		return ctx.Err()
	}
	if !o.manager.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the operator's cache was not filled")
	}
	return nil
}

// Stop ends the operator and waits until it has ended.
func (o *Operator) Stop() error {
	o.cancel()
	return <-o.ended
}

// Instant is a provider that costs nothing, so that what is left is the operator's own work.
type Instant struct{}

// Generate implements provider.Provider.
func (Instant) Generate(_ context.Context, request provider.Request) (provider.Response, error) {
	return provider.Response{Summary: news.Summary(request.Title).Text, Model: "instant"}, nil
}

// AheadClock is the real clock, put forward.
type AheadClock struct {
	clock.RealClock
	ahead atomic.Int64
}

// Now implements clock.PassiveClock.
func (c *AheadClock) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }

// Since implements clock.PassiveClock.
func (c *AheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// PutForward puts the clock forward.
func (c *AheadClock) PutForward(by time.Duration) { c.ahead.Add(int64(by)) }

// Reconciles counts the reconciles of the operators in this process so far, by controller.
func Reconciles() (map[string]float64, error) {
	families, err := crmetrics.Registry.Gather()
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" {
					counts[label.GetValue()] += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return counts, nil
}
