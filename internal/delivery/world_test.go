// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/postmemory"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// world is an engine with one destination, and with a schedule in which each thing is there once: what is not given back is missed.
type world struct {
	*Engine
	t     *testing.T
	clock *clocktesting.FakeClock
	plan  *schedule.Schedule
	press *press
}

// press is a destination that answers as it is told.
type press struct {
	calls   int
	deliver func() (destination.Receipt, error)
	// left is how long the last call, or the last look, may take.
	left time.Duration
	// posts are those that are found in a look that may see them, and since when it looks.
	posts []destination.Receipt
	since time.Time
	// each is how long each request of the last look may take.
	each time.Duration
	// broken is set where a look panics.
	broken bool
}

func (p *press) Find(ctx context.Context, query destination.Query) (destination.Receipt, bool, error) {
	p.each = query.Timeout
	if until, bounded := ctx.Deadline(); bounded {
		p.left = time.Until(until)
	}
	if p.since = query.Since; p.broken {
		panic("out of order")
	}
	for _, post := range p.posts {
		if !query.Taken(post) {
			return post, true, nil
		}
	}
	return destination.Receipt{}, false, nil
}

func (p *press) Deliver(ctx context.Context, _ string, _ destination.Post) (destination.Receipt, error) {
	p.calls++
	if until, bounded := ctx.Deadline(); bounded {
		p.left = time.Until(until)
	}
	if p.deliver != nil {
		return p.deliver()
	}
	return destination.Receipt{ID: "1", URL: "https://press.example/1"}, nil
}

var pressID = schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})

// newWorld makes a world that holds objects.
func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	described := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "press"}}
	described.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: "https://press.example"}
	described.Status.Server = &v1alpha1.DestinationServer{Account: "@press@press.example"}
	building := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithStatusSubresource(&v1alpha1.FeedItem{}).WithObjects(append(objects, described)...)
	if err := itemcache.Index(t.Context(), apitest.Indexes{ClientBuilder: building}); err != nil {
		t.Fatal(err)
	}
	api := building.Build()
	clock := clocktesting.NewFakeClock(noon)
	waker, stream, recorder := &queue.Waker{}, telemetry.NewStream(logr.Discard()), events.NewFakeRecorder(100)
	plan := schedule.New(clock, waker.Wake, map[schedule.Kind]schedule.Limit{schedule.KindWrites: {}})
	plan.Configure(itemwrites.All, schedule.Limit{Sharing: schedule.ByTenant})
	plan.Configure(queue.ItemPlaces, schedule.Limit{Concurrent: 1})
	plan.Open()
	known := services.New(clock, plan, waker.ServiceChanged)
	taken := &itemwrites.Writes{Clock: clock, Schedule: plan, Recorder: recorder, Log: logr.Discard(), Sources: api, Waker: waker}
	w := &world{t: t, clock: clock, plan: plan, press: &press{}}
	w.Engine = &Engine{
		Clock: clock, Client: api, Live: api, Writes: taken, Stream: stream, Schedule: plan, Waker: waker, Names: &itemcache.FeedNames{}, Services: known,
		Posted: &postmemory.Memories{Clock: clock, Client: api, Live: api, Recorder: recorder, Most: 1000},
		Work:   posting.Work{Background: &queue.Background{}},
		Results: &results.Results{
			Clock: clock, Client: api, Live: api, Writes: taken, Services: known, Recorder: recorder, Stream: stream, Waker: waker,
		},
	}
	w.open("1")
	return w
}

// open has the destination called as it is described now, with a version of its Secret.
func (w *world) open(secret string) {
	w.t.Helper()
	composer, err := destination.NewComposer(destination.Style{})
	if err != nil {
		w.t.Fatal(err)
	}
	server := v1alpha1.DestinationServer{Account: "@press@press.example", CanRead: true}
	to := &posting.Publisher{Destination: w.press, Writer: composer, Server: server}
	var described v1alpha1.FeedDestination
	if err := w.Client.Get(w.t.Context(), types.NamespacedName{Namespace: "news", Name: "press"}, &described); err != nil {
		w.t.Fatal(err)
	}
	w.Services.MarkReady(pressID, to, services.Revision(&described, secret), "press", schedule.Limit{Concurrent: 1}, time.Time{})
}

// source is one that posts to the destination.
func newSource(name string, change ...func(*v1alpha1.FeedSource)) *v1alpha1.FeedSource {
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name, UID: types.UID("of-" + name)}}
	source.Spec.URL = "https://news.example/feed"
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}}
	for _, do := range change {
		do(source)
	}
	return source
}

// newItem is an item of the one entry of a source's feed, whose summary is to be posted.
func newItem(of *v1alpha1.FeedSource, change ...func(*v1alpha1.FeedItem)) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{
		Namespace: "news", Name: of.Name + "-1", UID: types.UID("item-of-" + of.Name), CreationTimestamp: metav1.NewTime(noon),
	}}
	item.Spec = v1alpha1.FeedItemSpec{
		SourceRef: v1alpha1.SourceReference{Name: of.Name, UID: of.UID}, Title: "News", URL: "https://news.example/1", GUID: "1",
	}
	lifecycle.Settle(item, lifecycle.Outcome{
		Summary: &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"}, Destinations: of.Spec.Destinations,
	}, backoff.Policy{}, noon)
	for _, do := range change {
		do(item)
	}
	return item
}

// intends has the intent of a post stand on an item.
func intends(item *v1alpha1.FeedItem) {
	lifecycle.Intend(item, "press", "", 30*time.Second, noon)
}

// turn begins the work on an item, with a place for it.
func (w *world) turn(item *v1alpha1.FeedItem) *schedule.Turn {
	w.t.Helper()
	turn := w.plan.Enter(queue.Key(queue.ItemKey, client.ObjectKeyFromObject(item)))
	w.t.Cleanup(turn.Leave)
	return turn
}

// claimed is a post that may be made at this moment: with its place and its ticket, and the intent that is on the item.
func (w *world) claimed(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) *post {
	w.t.Helper()
	p, err := w.postTo(w.t.Context(), source, "press")
	if err != nil {
		w.t.Fatal(err)
	}
	turn := w.turn(item)
	taken, granted := turn.AcquireAll(deliveryRank(item), posting.Needs(pressID)...)
	if !granted {
		w.t.Fatal("nothing is granted")
	}
	p.Assign(turn, taken, granted)
	p.claimed = apiclock.PassedBy(w.clock)
	if p.memory, err = w.Posted.At(w.t.Context(), p.Target); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// settle returns when all that was begun apart has ended.
func (w *world) settle() {
	w.t.Helper()
	stopped, stop := context.WithCancel(w.t.Context())
	stop()
	w.Work.Background.Last = func(context.Context) {}
	if err := w.Work.Background.Start(stopped); err != nil {
		w.t.Fatal(err)
	}
}

// live is an item as the API server has it.
func (w *world) live(item *v1alpha1.FeedItem) *v1alpha1.FeedItem {
	w.t.Helper()
	var live v1alpha1.FeedItem
	if err := w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(item), &live); err != nil {
		w.t.Fatal(err)
	}
	return &live
}

// wantFree fails the test where a place or a ticket was not given back.
func (w *world) wantFree() {
	w.t.Helper()
	usage := w.plan.Snapshot()
	if places, calls := usage[schedule.KindWork].InUse, usage[schedule.KindDestination].InUse; places != 0 || calls != 0 {
		w.t.Errorf("%d places and %d rights to call were not given back", places, calls)
	}
}
