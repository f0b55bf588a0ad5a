// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is the operator: it polls feeds, works on their items and publishes summaries.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apibare"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/pdftext"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/shardcache"
	"github.com/feed-operator/feed-operator/internal/watches"
)

// version is set when a release is built.
var version = "devel"

// gracePeriod is how long a stop waits for what is under way: longer than the longest call to a
// provider that may be configured (10 minutes) and the writing of its result. Nothing under way: no wait.
const gracePeriod = 10*time.Minute + 30*time.Second

func main() {
	pdftext.Main() // the operator is also the process that reads PDF documents for it
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manager: "+redact.Log(err.Error()))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags, done, err := parseFlags(args, os.Stdout)
	if err != nil || done {
		return err
	}
	keepHeapSmall()
	leaveRoomToRead()
	setUpLogs(flags.log, os.Stderr)
	log := ctrl.Log.WithName("setup")

	restConfig, err := flags.restConfig()
	if err != nil {
		return err
	}
	now := apiclock.New(clock.RealClock{})
	restConfig.Wrap(now.Wrap)
	restConfig.Wrap(crdcheck.WrapTransport)
	restConfig.Wrap(apibare.WrapTransport)
	counted := metrics.New()
	restConfig.Wrap(counted.WrapTransport)
	watched := watches.New(now.Passed)
	restConfig.Wrap(watched.WrapTransport)
	manager, shared, err := newManager(restConfig, flags)
	if err != nil {
		return err
	}
	if err := controllers.Prepare(ctx, manager); err != nil {
		return err
	}
	if err := keepTime(ctx, manager, now); err != nil {
		return err
	}
	traces, err := startTracing(ctx, flags)
	if err != nil {
		return err
	}
	defer traces.Flush(context.WithoutCancel(ctx)) // when all work has ended
	out := outbound.New(flags.outbound(ctrl.Log.WithName("outbound"), now.Now))
	operators, err := newShards(manager, shared, flags, controllers.Options{
		Clock:           now,
		Outbound:        out,
		Providers:       connect.Providers(out),
		Destinations:    connect.Destinations(out),
		Builtin:         extractive.New(),
		ItemWorkers:     flags.workers,
		PollWorkers:     flags.pollWorkers,
		RequestsPerHost: flags.requestsPerHost,
		HostInterval:    flags.hostInterval,
		Self:            self(),
		InPlace:         backoff.DefaultInPlace,
		Metrics:         counted,
		Tracer:          tracerOf(traces),
		Namespaces:      flags.namespaces,
	})
	if err != nil {
		return err
	}
	if err := manager.Add(operators); err != nil {
		return err
	}
	if err := counted.Register(crmetrics.Registry, metrics.Process{Operators: operators.allGauges, Shards: operators.standings}); err != nil {
		return err
	}
	if err := addFeeds(manager, flags); err != nil {
		return err
	}
	if err := addDashboard(ctx, manager, flags, now, watched); err != nil {
		return err
	}
	if err := addProbes(manager); err != nil {
		return err
	}
	if err := manager.Add(&spareMemory{cache: manager.GetCache(), heap: heapSize, free: debug.FreeOSMemory}); err != nil {
		return err
	}
	log.Info("Manager starting", "version", version, "shards", flags.shards, "workers", flags.workers, "allowHTTP", flags.allowHTTP,
		"allowCIDRs", flags.allowCIDRs, "denyCIDRs", flags.denyCIDRs)
	ended, unfilled := make(chan error, 1), make(chan struct{})
	go func() { ended <- manager.Start(ctx) }()
	context.AfterFunc(ctx, func() {
		if !isFilled(ctx, manager.GetCache()) {
			close(unfilled)
		}
	})
	select {
	case err := <-ended:
		return err
	case err := <-operators.lost: // others may be at work already: nothing is waited for
		return err
	case <-unfilled: // controller-runtime would wait for the cache for ever
		log.Info("Stopped before the cache was filled, nothing was begun")
		return nil
	}
}

// isFilled reports whether a cache has read what there is. Before that, no controller begins anything.
func isFilled(ctx context.Context, of cache.Cache) bool {
	const aMoment = 200 * time.Millisecond // it is not told otherwise that it has
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), aMoment)
	defer cancel()
	return of.WaitForCacheSync(ctx)
}

// newManager makes what the process has once: the one cache, which all operators in it share, and what it serves.
func newManager(restConfig *rest.Config, flags *flags) (ctrl.Manager, *shardcache.Shared, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))

	var shared *shardcache.Shared
	manager, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:         scheme,
		MapperProvider: newMapper,
		Cache:          controllers.CacheOptions(flags.namespaces...),
		NewCache: func(config *rest.Config, options cache.Options) (cache.Cache, error) {
			made, err := cache.New(config, options)
			shared = &shardcache.Shared{Cache: made}
			return shared, err
		},
		Client:                  controllers.ClientOptions(),
		Metrics:                 metricsOptions(flags, scheme),
		HealthProbeBindAddress:  flags.probeAddress,
		PprofBindAddress:        flags.pprofAddress,
		GracefulShutdownTimeout: new(gracePeriod),
	})
	return manager, shared, err
}

func addProbes(manager ctrl.Manager) error {
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	return manager.AddReadyzCheck("readyz", healthz.Ping)
}

// self is the operator's own pod, as its Deployment names it; nil outside a cluster.
func self() *corev1.ObjectReference {
	namespace, name := os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME")
	if namespace == "" || name == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name}
}

// userAgent tells the servers of feeds who asks, and where to complain.
func userAgent() string {
	return "feed-operator/" + version + " (+https://github.com/feed-operator/feed-operator)"
}
