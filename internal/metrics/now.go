// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"slices"
	"strconv"
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

// Now is where the gauges of one operator are read from. One that works on a part of the namespaces reads those alone.
type Now struct {
	Clock clock.PassiveClock
	// Cache is read, and never the API server.
	Cache client.Reader
	// Items counts the items by phase, and those that have failed for good by reason. All are counted as soon as Counted says so: with fewer a gauge
	// would dip after each start, and end an alert.
	Items   func() (v1alpha1.ItemCounts, map[v1alpha1.Reason]int)
	Counted func() bool
	// Held is what the API server does not take.
	Held func() Held
	// Leads is closed as soon as this process leads: only one of several replicas counts what all see.
	Leads <-chan struct{}
}

// leads reports whether the operator leads.
func (n Now) leads() bool {
	select {
	case <-n.Leads:
		return true
	default:
		return false
	}
}

// Shard is how a part of the namespaces stands.
type Shard struct {
	// Index is which one of Count it is, from 0.
	Index, Count int
	// Held is set if this process works on it.
	Held bool
}

// Process is where the gauges of a process are read from, which may have several operators.
type Process struct {
	// Operators are those that there are now.
	Operators func() []Now
	// Shards are those that there are now; nil where that is not known.
	Shards func() []Shard
}

// Register adds all metrics to a registry.
func (m *Metrics) Register(registry prometheus.Registerer, process Process) error {
	for _, metric := range append(m.all(), gauges(process)) {
		if err := registry.Register(metric); err != nil {
			return err
		}
	}
	return nil
}

// gauges works out how many there are when it is asked.
type gauges Process

// Describe implements prometheus.Collector.
func (gauges) Describe(described chan<- *prometheus.Desc) {
	for _, gauge := range []*prometheus.Desc{
		items, itemsDue, deadLetters, oldestWaiting, sources, withoutProvider, serviceStates, failuresInARow, serverHeld, namespacesHeld, resultsKept,
		bytesKept, shardHeld,
	} {
		described <- gauge
	}
}

// scrapeTimeout bounds the reading of the cache, which waits for nothing but its first filling.
const scrapeTimeout = 5 * time.Second

// setGauge says what a gauge is, with the values of its labels.
type setGauge func(of *prometheus.Desc, value float64, labels ...string)

// Collect implements prometheus.Collector.
func (g gauges) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	if g.Shards != nil {
		for _, shard := range g.Shards() {
			held := 0.0
			if shard.Held {
				held = 1
			}
			gauge(shardHeld, held, strconv.Itoa(shard.Index), strconv.Itoa(shard.Count))
		}
	}
	operators := g.Operators()
	held(operators, gauge)
	operators = slices.DeleteFunc(operators, func(operator Now) bool { return !operator.leads() })
	if len(operators) == 0 {
		return
	}
	if !slices.ContainsFunc(operators, func(operator Now) bool { return !operator.Counted() }) {
		collectItems(operators, gauge)
	}
	now, err := read(ctx, operators)
	if err != nil {
		return // the cache is not filled yet
	}
	now.collectQueue(gauge)
	now.collectServices(gauge)
}

// held says what the API server does not take.
func held(operators []Now, gauge setGauge) {
	var all Held
	for _, operator := range operators {
		held := operator.Held()
		all.Server = max(all.Server, held.Server)
		all.Namespaces += held.Namespaces
		all.Results += held.Results
		all.Bytes += held.Bytes
	}
	gauge(serverHeld, all.Server)
	gauge(namespacesHeld, float64(all.Namespaces))
	gauge(resultsKept, float64(all.Results))
	gauge(bytesKept, float64(all.Bytes))
}

// collectItems counts items by what they have come to.
func collectItems(operators []Now, gauge setGauge) {
	byPhase, dead := map[v1alpha1.Phase]float64{}, map[v1alpha1.Reason]int{}
	for _, operator := range operators {
		counts, byReason := operator.Items()
		for phase, n := range map[v1alpha1.Phase]int32{
			v1alpha1.PhaseUnprocessed: counts.Unprocessed, v1alpha1.PhaseDeferred: counts.Deferred, v1alpha1.PhasePending: counts.Pending,
			v1alpha1.PhaseProcessed: counts.Processed, v1alpha1.PhaseFailed: counts.Failed,
		} {
			byPhase[phase] += float64(n)
		}
		for reason, n := range byReason {
			dead[reason] += n
		}
	}
	for phase, n := range byPhase {
		gauge(items, n, string(phase))
	}
	for _, reason := range failureReasons {
		gauge(deadLetters, float64(dead[reason]), string(reason))
	}
}

// present is all that there is when somebody asks.
type present struct {
	time         time.Time
	unfinished   []v1alpha1.FeedItem // and some that have failed for good, and may be retried
	providers    []v1alpha1.AIProvider
	destinations []v1alpha1.FeedDestination
	sources      []v1alpha1.FeedSource
}

// read reads the caches of operators.
func read(ctx context.Context, operators []Now) (*present, error) {
	all := &present{time: operators[0].Clock.Now()}
	for _, operator := range operators {
		var providers v1alpha1.AIProviderList
		var destinations v1alpha1.FeedDestinationList
		var feeds v1alpha1.FeedSourceList
		for _, list := range []client.ObjectList{&providers, &destinations, &feeds} {
			if err := operator.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return nil, err
			}
		}
		unfinished, err := itemcache.UnfinishedOf(ctx, operator.Cache, "", itemcache.AnySource)
		if err != nil {
			return nil, err
		}
		all.unfinished = append(all.unfinished, unfinished...)
		all.providers = append(all.providers, providers.Items...)
		all.destinations = append(all.destinations, destinations.Items...)
		all.sources = append(all.sources, feeds.Items...)
	}
	return all, nil
}

// collectServices counts providers, destinations and sources.
func (p *present) collectServices(gauge setGauge) {
	callable := map[types.NamespacedName]bool{}
	ofProviders, ofDestinations := newServiceCounts(), newServiceCounts()
	for i := range p.providers {
		ofProviders.add(&p.providers[i], p.time)
		callable[client.ObjectKeyFromObject(&p.providers[i])] = isCallable(&p.providers[i], p.time)
	}
	for i := range p.destinations {
		ofDestinations.add(&p.destinations[i], p.time)
	}
	ofProviders.collect("AIProvider", gauge)
	ofDestinations.collect("FeedDestination", gauge)

	states, without := map[overview.SourceState]int{}, 0
	for i := range p.sources {
		source := &p.sources[i]
		state := overview.StateOf(source, p.time)
		states[state]++
		if state != overview.SourceSuspended && lacksProvider(source, callable) {
			without++
		}
	}
	for _, state := range overview.SourceStates {
		gauge(sources, float64(states[state]), string(state))
	}
	gauge(withoutProvider, float64(without))
}

// lacksProvider reports whether a source names providers, to judge or to write, of which none can be called.
func lacksProvider(source *v1alpha1.FeedSource, callable map[types.NamespacedName]bool) bool {
	for _, chain := range [][]v1alpha1.ProviderReference{source.Spec.Providers, source.Judges()} {
		if len(chain) > 0 && !slices.ContainsFunc(chain, func(ref v1alpha1.ProviderReference) bool {
			return callable[types.NamespacedName{Namespace: source.Namespace, Name: ref.Name}]
		}) {
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

// add counts a service. Failures of one that is suspended are nobody's concern: it is not called.
func (c *serviceCounts) add(service v1alpha1.ServiceObject, now time.Time) {
	if service.Suspended() {
		c.by[stateSuspended]++
		return
	}
	c.by[string(availabilityState(service, now))]++
	if known := service.Service().Availability; known != nil {
		c.failures = max(c.failures, known.Failures)
	}
}

// availabilityState is how a service stands now. A pause that is over stays in the status until the next call, which at a weekend may be long; an open circuit
// stays open until a call has shown otherwise.
func availabilityState(service v1alpha1.ServiceObject, now time.Time) schedule.State {
	known := service.Service().Availability
	if known == nil {
		return schedule.StateReady
	}
	state := schedule.State(known.State)
	if (state == schedule.StateCoolingDown || state == schedule.StateQuotaSpent) && !isPaused(service, now) {
		return schedule.StateReady
	}
	return state
}

// isPaused reports whether a service is in a pause that it was given.
func isPaused(service v1alpha1.ServiceObject, now time.Time) bool {
	known := service.Service().Availability
	return known != nil && known.Until != nil && known.Until.After(now)
}

// isCallable reports whether a service is ready, as people see it: pauses of less than a minute come and go all day, and do not count.
func isCallable(service v1alpha1.ServiceObject, now time.Time) bool {
	switch availabilityState(service, now) {
	case schedule.StateCircuitOpen, schedule.StateDown:
		return false
	case schedule.StateReady, schedule.StateCoolingDown, schedule.StateQuotaSpent:
	}
	return !service.Suspended() && !meta.IsStatusConditionFalse(service.Service().Conditions, v1alpha1.ConditionReady)
}

func (c *serviceCounts) collect(kind string, gauge setGauge) {
	for _, state := range availabilityStates {
		gauge(serviceStates, float64(c.by[state]), kind, state)
	}
	gauge(failuresInARow, float64(c.failures), kind)
}
