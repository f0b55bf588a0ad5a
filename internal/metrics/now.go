// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/overview"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// Held is what the API server does not take at the moment.
type Held struct {
	// Server is 1 while it refuses all updates of items; Namespaces in how many it refuses them.
	Server     float64
	Namespaces int
	// Results are kept in memory until it takes them, and take so many Bytes.
	Results, Bytes int64
}

// Now is where the gauges are read from.
type Now struct {
	Clock clock.PassiveClock
	// Cache is read, and never the API server.
	Cache client.Reader
	// Items counts the items by phase, and those that have failed for good by reason.
	Items func() (v1alpha1.ItemCounts, map[v1alpha1.Reason]int)
	// Held is what the API server does not take.
	Held func() Held
	// Leads is closed as soon as this process leads: only one of several replicas counts what all see.
	Leads <-chan struct{}
}

// Register adds all metrics to a registry.
func (m *Metrics) Register(registry prometheus.Registerer, now Now) error {
	for _, metric := range append(m.all(), gauges{now}) {
		if err := registry.Register(metric); err != nil {
			return err
		}
	}
	return nil
}

// gauges works out how many there are when it is asked.
type gauges struct{ Now }

// Describe implements prometheus.Collector.
func (gauges) Describe(described chan<- *prometheus.Desc) {
	for _, gauge := range []*prometheus.Desc{
		items, deadLetters, oldestWaiting, sources, withoutProvider, serviceStates, failuresInARow, serverHeld, namespacesHeld, resultsKept, bytesKept,
	} {
		described <- gauge
	}
}

// scrapeTimeout bounds the reading of the cache, which waits for nothing but its first filling.
const scrapeTimeout = 5 * time.Second

// Collect implements prometheus.Collector.
func (g gauges) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	held := g.Held()
	gauge(serverHeld, held.Server)
	gauge(namespacesHeld, float64(held.Namespaces))
	gauge(resultsKept, float64(held.Results))
	gauge(bytesKept, float64(held.Bytes))
	select {
	case <-g.Leads:
	default:
		return
	}
	counts, dead := g.Items()
	for phase, n := range map[v1alpha1.Phase]int32{
		v1alpha1.PhaseUnprocessed: counts.Unprocessed, v1alpha1.PhaseDeferred: counts.Deferred, v1alpha1.PhasePending: counts.Pending,
		v1alpha1.PhaseProcessed: counts.Processed, v1alpha1.PhaseFailed: counts.Failed,
	} {
		gauge(items, float64(n), string(phase))
	}
	for _, reason := range failureReasons {
		gauge(deadLetters, float64(dead[reason]), string(reason))
	}
	if waiting, err := itemcache.UnfinishedOf(ctx, g.Cache, "", itemcache.AnySource); err == nil {
		gauge(oldestWaiting, g.oldest(waiting).Seconds())
	}
	g.collectServices(ctx, gauge)
}

// oldest is the age of the oldest item that is not finished.
func (g gauges) oldest(unfinished []v1alpha1.FeedItem) time.Duration {
	var age time.Duration
	now := g.Clock.Now()
	for i := range unfinished {
		if item := &unfinished[i]; !item.Terminal() {
			age = max(age, now.Sub(item.CreationTimestamp.Time))
		}
	}
	return age
}

// collectServices counts providers, destinations and sources.
func (g gauges) collectServices(ctx context.Context, gauge func(*prometheus.Desc, float64, ...string)) {
	var providers v1alpha1.AIProviderList
	var destinations v1alpha1.FeedDestinationList
	var feeds v1alpha1.FeedSourceList
	for _, list := range []client.ObjectList{&providers, &destinations, &feeds} {
		if err := g.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return // the cache is not filled yet
		}
	}
	callable := map[types.NamespacedName]bool{}
	ofProviders, ofDestinations := newServiceCounts(), newServiceCounts()
	for i := range providers.Items {
		callable[client.ObjectKeyFromObject(&providers.Items[i])] = ofProviders.add(&providers.Items[i])
	}
	for i := range destinations.Items {
		ofDestinations.add(&destinations.Items[i])
	}
	ofProviders.collect("AIProvider", gauge)
	ofDestinations.collect("FeedDestination", gauge)

	states, without := map[overview.SourceState]int{}, 0
	for i := range feeds.Items {
		source := &feeds.Items[i]
		state := overview.StateOf(source, g.Clock.Now())
		states[state]++
		if state != overview.SourceSuspended && len(source.Spec.Providers) > 0 && !anyCallable(source, callable) {
			without++
		}
	}
	for _, state := range overview.SourceStates {
		gauge(sources, float64(states[state]), string(state))
	}
	gauge(withoutProvider, float64(without))
}

func anyCallable(source *v1alpha1.FeedSource, callable map[types.NamespacedName]bool) bool {
	for _, ref := range source.Spec.Providers {
		if callable[types.NamespacedName{Namespace: source.Namespace, Name: ref.Name}] {
			return true
		}
	}
	return false
}

// serviceCounts counts services of one kind by state.
type serviceCounts struct {
	by       map[string]int
	failures int32
}

func newServiceCounts() *serviceCounts { return &serviceCounts{by: map[string]int{}} }

// add counts a service, and reports whether it may be called now.
func (c *serviceCounts) add(service v1alpha1.ServiceObject) (callable bool) {
	state := string(schedule.StateReady)
	if known := service.Service().Availability; known != nil {
		state = string(known.State)
		c.failures = max(c.failures, known.Failures)
	}
	if service.Suspended() {
		state = stateSuspended
	}
	c.by[state]++
	return state == string(schedule.StateReady) && !meta.IsStatusConditionFalse(service.Service().Conditions, v1alpha1.ConditionReady)
}

func (c *serviceCounts) collect(kind string, gauge func(*prometheus.Desc, float64, ...string)) {
	for _, state := range availabilityStates {
		gauge(serviceStates, float64(c.by[state]), kind, state)
	}
	gauge(failuresInARow, float64(c.failures), kind)
}
