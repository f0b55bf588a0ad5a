// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/shard"
	"github.com/feed-operator/feed-operator/internal/shardcache"
	"github.com/feed-operator/feed-operator/internal/shardlease"
)

// shards runs the operators of the shards that this replica works on: a manager for each, over the one cache of the process. Each waits until it
// may work with its queue filled already, and ends with all that it has in memory.
type shards struct {
	flags   *flags
	process ctrl.Manager
	cache   *shardcache.Shared
	options controllers.Options
	holder  *shardlease.Holder // nil without leader election
	// lost takes why the process must end at once.
	lost chan error

	mu sync.Mutex
	// gauges are those of the operator of each shard.
	gauges map[int]metrics.Now
}

// newShards makes what runs the operators. The options are those of each.
func newShards(process ctrl.Manager, shared *shardcache.Shared, flags *flags, options controllers.Options) (*shards, error) {
	s := &shards{flags: flags, process: process, cache: shared, options: options, lost: make(chan error, 1), gauges: map[int]metrics.Now{}}
	if !flags.leaderElect {
		return s, nil
	}
	namespace, err := flags.leaseNamespace()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	replica := host + "_" + string(uuid.NewUUID())
	leases, err := leaseClient(process.GetConfig())
	if err != nil {
		return nil, err
	}
	s.holder = &shardlease.Holder{
		Leases: leases, Namespace: namespace, Replica: replica, Shards: flags.shards, Clock: steady(options.Clock),
		Events: leaseEvents{process.GetEventRecorder(replica)},
		Log:    ctrl.Log.WithName("shards"),
		New: func(ctx context.Context, index int, lock resourcelock.Interface) (shardlease.Operator, error) {
			return s.newOperator(ctx, index, lock)
		},
	}
	return s, nil
}

// leaseEvents tell who has become the holder of a Lease, in the form that the leader election of client-go knows.
type leaseEvents struct{ events.EventRecorder }

// Eventf implements resourcelock.EventRecorder.
func (e leaseEvents) Eventf(lease runtime.Object, kind, reason, message string, args ...any) {
	e.EventRecorder.Eventf(lease, nil, kind, reason, "Lead", message, args...)
}

// steady shows how much time passes by a clock, and nothing of what somebody sets that clock to.
func steady(clock interface{ Now() time.Time }) func() time.Time {
	began := clock.Now().Round(0)
	passed := apiclock.PassedBy(clock)
	return func() time.Time { return began.Add(apiclock.PassedBy(clock) - passed) }
}

// leaseClient reaches the Leases with connections and a rate of its own, so that a burst of writes never costs a Lease.
func leaseClient(process *rest.Config) (coordinationclient.LeasesGetter, error) {
	own := rest.AddUserAgent(process, "leader-election") // a copy
	own.Timeout = shardlease.RenewDeadline / 2
	own.QPS, own.RateLimiter = -1, nil
	return coordinationclient.NewForConfig(own)
}

// leaseNamespace is where the Leases are.
func (f *flags) leaseNamespace() (string, error) {
	if f.leaderElectionNamespace != "" {
		return f.leaderElectionNamespace, nil
	}
	const ofPod = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	namespace, err := os.ReadFile(ofPod)
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("--leader-elect needs --leader-election-namespace outside of a cluster")
	}
	return strings.TrimSpace(string(namespace)), err
}

// Start implements manager.Runnable. It returns when the operators have finished what was under way.
func (s *shards) Start(ctx context.Context) error {
	err := s.run(ctx)
	if err != nil {
		s.lost <- err
	}
	return err
}

func (s *shards) run(ctx context.Context) error {
	if s.holder != nil {
		return s.holder.Run(ctx)
	}
	operator, err := s.newOperator(ctx, 0, nil)
	if err != nil {
		return err
	}
	return operator.Start(ctx)
}

// newOperator makes the operator of a shard.
func (s *shards) newOperator(ctx context.Context, index int, lock resourcelock.Interface) (ctrl.Manager, error) {
	owns := func(namespace string) bool { return shard.Of(namespace, s.flags.shards) == index }
	log := s.process.GetLogger()
	if s.flags.shards > 1 {
		log = log.WithValues("shard", fmt.Sprintf("%d of %d", index, s.flags.shards))
	}
	duration, deadline, period := shardlease.Duration, shardlease.RenewDeadline, shardlease.RetryPeriod
	manager, err := ctrl.NewManager(s.process.GetConfig(), ctrl.Options{
		Scheme:         s.process.GetScheme(),
		Logger:         log,
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return s.process.GetRESTMapper(), nil },
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) {
			return shardcache.NewView(s.cache, owns), nil
		},
		Client:                              controllers.ClientOptions(),
		Metrics:                             metricsserver.Options{BindAddress: "0"}, // the process serves them
		LeaderElection:                      lock != nil,
		LeaderElectionID:                    shard.LeaseName(index, s.flags.shards),
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &duration,
		RenewDeadline:                       &deadline,
		RetryPeriod:                         &period,
		GracefulShutdownTimeout:             new(gracePeriod),
		Controller:                          config.Controller{EnableWarmup: new(true), SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	options := s.options
	options.Gauges = func(now metrics.Now) { s.setGauges(index, now) }
	return manager, controllers.Setup(ctx, partOf{manager, owns}, options)
}

// partOf is a manager that reads of the API server what is in some namespaces, as it does of the cache.
type partOf struct {
	ctrl.Manager
	owns shardcache.Owns
}

// GetAPIReader implements cluster.Cluster.
func (p partOf) GetAPIReader() client.Reader {
	return shardcache.NewReader(p.Manager.GetAPIReader(), p.owns)
}

// setGauges replaces the gauges of a shard by those of its new operator.
func (s *shards) setGauges(index int, now metrics.Now) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gauges[index] = now
}

// allGauges are those of all operators that there are.
func (s *shards) allGauges() []metrics.Now {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]metrics.Now, 0, len(s.gauges))
	for _, now := range s.gauges {
		all = append(all, now)
	}
	return all
}

// standings are how the shards stand, by what this replica works on.
func (s *shards) standings() []metrics.Shard {
	if s.holder == nil {
		return []metrics.Shard{{Index: 0, Count: 1, Held: true}}
	}
	var all []metrics.Shard
	for index, held := range s.holder.Holding() {
		all = append(all, metrics.Shard{Index: index, Count: s.flags.shards, Held: held})
	}
	return all
}
