// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers/batching"
	"github.com/feed-operator/feed-operator/controllers/eventing"
	"github.com/feed-operator/feed-operator/controllers/feeditem"
	"github.com/feed-operator/feed-operator/controllers/feedsource"
	"github.com/feed-operator/feed-operator/controllers/retention"
	"github.com/feed-operator/feed-operator/controllers/service"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/attempt"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/batches"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/delivery"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/picture"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/postmemory"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/tracing"
	"github.com/feed-operator/feed-operator/internal/web"
)

// component is how the operator names itself in Events.
const component = "feed-operator"

// Options are what the controllers need beyond a manager.
type Options struct {
	Clock clock.WithDelayedExecution
	// Outbound is the only way to feeds and pages.
	Outbound *outbound.Client
	// Providers makes what calls the service of an AIProvider.
	Providers service.ProviderFactory
	// Destinations makes what posts to a FeedDestination.
	Destinations service.DestinationFactory
	// Builtin writes summaries where a source names no provider.
	Builtin provider.Provider
	// InPlace is how calls that have failed are repeated within one attempt; the zero value repeats none.
	InPlace backoff.InPlace
	// ItemWorkers and PollWorkers are how many items of one source are worked on, and feeds of one namespace polled, at once at
	// most while nobody else has anything to do. All together may come to four times as many (see places.go).
	ItemWorkers, PollWorkers int
	// RequestsPerHost is how many requests of one namespace to one host are under way at once at most. Those of all may come to
	// twice as many.
	RequestsPerHost int
	// HostInterval is how much time lies between the beginnings of two requests to one host at least.
	HostInterval time.Duration
	// Self is the pod of the operator, for Events that are about no object; nil where there is none.
	Self *corev1.ObjectReference
	// PostsInMemory is of how many posts, at all destinations, it is known at most without asking the API server; 0 is for 250,000.
	PostsInMemory int64
	// EventBytes is how much memory events may take that wait for one destination; 0 is for eventstream.EachBytes. All together may take
	// 16 times as much.
	EventBytes int
	// Metrics count what happens; nil counts for nobody.
	Metrics *metrics.Metrics
	// Tracer makes the spans of attempts at items; nil makes none.
	Tracer *tracing.Tracer
	// Registry takes the metrics; nil for nobody to read them, or where Gauges takes what is this operator's.
	Registry prometheus.Registerer
	// Gauges takes where the gauges are read from, in a process with several operators, of which each works on a part of the namespaces. The
	// metrics are registered there, for all of them.
	Gauges func(metrics.Now)
	// Namespaces are those that the operator works in; none means all.
	Namespaces []string
}

// Prepare has a manager cache what controllers read, with their indexes. Setup does it too. It is for a cache that is shared by several managers, and is to
// be filled before the first of them is made.
func Prepare(ctx context.Context, manager ctrl.Manager) error {
	return errors.Join(itemcache.WatchKinds(ctx, manager.GetCache()),
		itemcache.Index(ctx, manager.GetFieldIndexer()), eventing.Index(ctx, manager.GetFieldIndexer()))
}

// Setup registers all controllers with a manager that was made with CacheOptions and ClientOptions.
func Setup(ctx context.Context, manager ctrl.Manager, options Options) error {
	return setup(ctx, manager, options, &queue.Waker{}, watchKinds)
}

// watchKinds asks the API server about its kinds before anything begins, and again while the operator runs.
func watchKinds(ctx context.Context, manager ctrl.Manager, kinds *crdcheck.Checker) error {
	kinds.Check(ctx)
	return manager.Add(kinds)
}

func setup(ctx context.Context, manager ctrl.Manager, options Options, waker *queue.Waker,
	watchKinds func(context.Context, ctrl.Manager, *crdcheck.Checker) error,
) error {
	manager = redactingManager{manager}
	if err := Prepare(ctx, manager); err != nil {
		return err
	}
	plan := schedule.New(options.Clock, waker.Wake, map[schedule.Kind]schedule.Limit{
		schedule.KindHost:    {Concurrent: options.RequestsPerHost, Every: options.HostInterval, LongestPause: web.LongestHostPause, Sharing: schedule.ByTenant},
		schedule.KindNetwork: {},
		schedule.KindWrites:  {},
	})
	plan.Configure(itemwrites.All, schedule.Limit{Sharing: schedule.ByTenant})
	plan.Configure(schedule.Builtin, schedule.Limit{})
	plan.Configure(queue.ItemPlaces, queue.LimitOf(options.ItemWorkers))
	plan.Configure(queue.PollPlaces, queue.LimitOf(options.PollWorkers))
	plan.Configure(queue.ProviderCheckPlaces, queue.LimitOfChecks)
	plan.Configure(queue.DestinationCheckPlaces, queue.LimitOfChecks)
	for _, looks := range []schedule.Resource{queue.ProviderLookPlaces, queue.DestinationLookPlaces, queue.BatchLookPlaces} {
		plan.Configure(looks, queue.LimitOfLooks)
	}
	plan.Configure(queue.RetentionPlaces, queue.LimitOfRetention)
	plan.Configure(queue.EventPlaces, queue.LimitOfEvents)

	outbox := eventstream.NewOutbox(cmp.Or(options.EventBytes, eventstream.EachBytes))
	listener := &eventing.Listener{Destinations: manager.GetClient(), Outbox: outbox, Waker: waker, Log: manager.GetLogger().WithName("events")}
	listening := context.WithoutCancel(ctx) // what is written at the end is told, too
	counted := cmp.Or(options.Metrics, metrics.New())
	stream := telemetry.NewStream(manager.GetLogger(),
		func(_ *v1alpha1.FeedItem, entry eventstream.Entry) { listener.Hear(listening, entry) },
		func(item *v1alpha1.FeedItem, entry eventstream.Entry) {
			counted.Hear(item, func() *v1alpha1.FeedSource {
				source, _ := itemcache.SourceOf(listening, manager.GetClient(), item) // nil where the cache does not know it
				return source
			}, entry)
		})
	web := &web.Web{
		Clock:    options.Clock,
		Schedule: plan,
		Recorder: manager.GetEventRecorder(component),
		Log:      manager.GetLogger().WithName("network"),
		Self:     options.Self,
	}
	known := services.New(options.Clock, plan, waker.ServiceChanged)
	names, fresh := &itemcache.FeedNames{}, &itemcache.Fresh{}
	taken := &itemwrites.Writes{
		Clock:    options.Clock,
		Schedule: plan,
		Recorder: manager.GetEventRecorder(component),
		Log:      manager.GetLogger().WithName("writes"),
		Self:     options.Self,
		Sources:  manager.GetClient(),
		Waker:    waker,
	}
	apart := &queue.Background{}
	notifier := &notices.Notifier{Clock: options.Clock, Client: manager.GetClient(), Services: known, Writes: taken, Work: posting.Work{Background: apart}}
	recordable, err := crdcheck.New(manager.GetConfig(), manager.GetHTTPClient(), options.Clock, manager.GetLogger().WithName("kinds"),
		manager.GetClient(), waker)
	if err != nil {
		return err
	}
	if err := watchKinds(ctx, manager, recordable); err != nil {
		return err
	}
	whole, live := recordable.Whole(manager.GetClient()), manager.GetAPIReader()
	before := &postmemory.Memories{
		Clock: options.Clock, Client: whole, Live: live, Recorder: manager.GetEventRecorder(component),
		Namespaces: options.Namespaces, Synced: manager.GetCache().WaitForCacheSync,
		Most: cmp.Or(options.PostsInMemory, postmemory.MostPosts),
	}
	client := itemwrites.Watch(whole, taken)
	written := &results.Results{
		Clock: options.Clock, Client: client, Live: live, Writes: taken, Recordable: recordable, Services: known,
		Recorder: manager.GetEventRecorder(component), Stream: stream, Waker: waker,
	}
	posts := &delivery.Engine{
		Clock: options.Clock, Client: client, Live: live, Writes: taken, Stream: stream, Tracer: options.Tracer, Schedule: plan, Waker: waker,
		Names: names, Services: known, Posted: before, InPlace: options.InPlace, Work: posting.Work{Background: apart}, Results: written,
		Images: delivery.NewImages(options.Clock, plan, picture.NewFetcher(options.Outbound)),
	}
	summaries := &attempt.Engine{
		Clock: options.Clock, Client: client, Writes: taken, Stream: stream, Tracer: options.Tracer, Schedule: plan, Web: web,
		Articles: article.NewFetcher(options.Outbound), Services: known, Builtin: options.Builtin, InPlace: options.InPlace,
		Results: written, Metrics: counted, Poster: posts, Open: attempt.OpenAttempts{Budget: options.Outbound.Budget()},
	}
	items := &feeditem.Reconciler{
		Clock:      options.Clock,
		Client:     client,
		Live:       live,
		Fresh:      fresh,
		Writes:     taken,
		Recorder:   manager.GetEventRecorder(component),
		Stream:     stream,
		Schedule:   plan,
		Waker:      waker,
		Notifier:   notifier,
		Recordable: recordable,
		Workers:    options.ItemWorkers,
		Results:    written,
		Attempts:   summaries,
		Deliveries: posts,
	}
	sources := &feedsource.Reconciler{
		Clock:    options.Clock,
		Client:   whole,
		Live:     live,
		Writes:   taken,
		Recorder: manager.GetEventRecorder(component),
		Stream:   stream,
		Schedule: plan,
		Web:      web,
		Waker:    waker,
		Outbound: options.Outbound,
		Names:    names,
		Fresh:    fresh,
		Workers:  options.PollWorkers,
		Metrics:  counted,

		Recordable: recordable,
	}
	tools := service.Tools{
		Clock:      options.Clock,
		Client:     manager.GetClient(),
		Live:       live,
		Recorder:   manager.GetEventRecorder(component),
		Services:   known,
		Waker:      waker,
		Notifier:   notifier,
		Recordable: recordable,
	}
	providers := service.NewAIProviders(tools, options.Providers, options.ItemWorkers)
	destinations := service.NewFeedDestinations(tools, options.Destinations)
	retention := &retention.Reconciler{Clock: options.Clock, Schedule: plan, Client: manager.GetClient(), Live: live, Waker: waker}

	sending := &batching.Reconciler{Client: client, Schedule: plan, Waker: waker, Batches: &batches.Batcher{
		Clock: options.Clock, Client: client, Live: live, Writes: taken, Tracer: options.Tracer, Schedule: plan, Waker: waker, Services: known,
		InPlace: options.InPlace, Memory: options.Outbound.Budget(), Requests: posting.Work{Background: apart}, Items: delivery.Batched{Engine: posts},
	}}
	telling := &eventing.Reconciler{
		Clock: options.Clock, Client: manager.GetClient(), Recorder: manager.GetEventRecorder(component), Schedule: plan, Services: known,
		Waker: waker, Outbox: outbox, Log: manager.GetLogger().WithName("events"), Requests: posting.Work{Background: apart},
	}
	apart.Last = func(ctx context.Context) {
		written.WriteLast(ctx)
		telling.Flush(ctx)
		summaries.Open.End()
		plan.End()
	}
	for _, controller := range []interface{ SetupWithManager(ctrl.Manager) error }{items, sources, providers, destinations, retention, sending, telling} {
		if err := controller.SetupWithManager(manager); err != nil {
			return err
		}
	}
	waiting := telemetry.NewQueueLog(options.Clock, manager.GetLogger())
	countsAll, err := itemcache.Hear(ctx, manager.GetCache(), waiting)
	if err != nil {
		return err
	}
	if _, err := itemcache.Hear(ctx, manager.GetCache(), before.ItemHandler(ctx)); err != nil {
		return err
	}
	now := metrics.Now{
		Clock: options.Clock, Cache: manager.GetClient(), Items: waiting.Counts, Counted: countsAll, Held: written.Held, Leads: manager.Elected(),
	}
	if options.Gauges != nil {
		options.Gauges(now)
	}
	if options.Registry != nil {
		alone := metrics.Process{
			Operators: func() []metrics.Now { return []metrics.Now{now} },
			Shards:    func() []metrics.Shard { return []metrics.Shard{{Count: 1, Held: true}} },
		}
		if err := counted.Register(options.Registry, alone); err != nil {
			return err
		}
	}
	for _, runnable := range []ctrlmanager.Runnable{
		waiting, apart, before,
		&clockWatch{clock: options.Clock, log: manager.GetLogger().WithName("clock"), wakeAll: recordable.WakeAll},
		&service.FinalCounters{Services: known, Providers: providers, Destinations: destinations},
		&feeditem.Seeder{Reconciler: items, Synced: manager.GetCache().WaitForCacheSync},
	} {
		if err := manager.Add(runnable); err != nil {
			return err
		}
	}
	return nil
}
