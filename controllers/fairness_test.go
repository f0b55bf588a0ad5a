// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// newTenants starts one operator for several namespaces, and returns what stands for each.
func newTenants(t *testing.T, n int, change ...func(*world)) []*world {
	t.Helper()
	w := newWorld(t, append(change, func(w *world) {
		for range n - 1 {
			w.others = append(w.others, w.api.Namespace(t))
		}
	})...)
	tenants := []*world{w}
	for _, namespace := range w.others {
		other := &world{t: t, api: w.api, client: w.client, namespace: namespace, clock: w.clock, builtin: w.builtin, out: w.out}
		other.manager, other.lookAt, other.givenUp = w.manager, w.lookAt, w.givenUp
		tenants = append(tenants, other)
	}
	return tenants
}

// tarpit is many hosts that take requests and never answer, until the test ends.
type tarpit struct {
	t    *testing.T
	port string
	end  chan struct{}

	mu            sync.Mutex
	hanging, gone int
	before        int // were gone when the neighbour came
}

// newTarpit makes one; it is to be made after the operator, which would else wait for its answers at its end.
func newTarpit(t *testing.T) *tarpit {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	p := &tarpit{t: t, port: port, end: make(chan struct{})}
	server := &httptest.Server{Listener: listener, Config: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { p.hang(w, r) })}}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(p.end) })
	return p
}

// url is one of its hosts, each in a network of its own.
func (p *tarpit) url(i int) string {
	return fmt.Sprintf("http://127.%d.%d.1:%s", 1+i/250, i%250, p.port)
}

// hang is a hook that never answers.
func (p *tarpit) hang(_ http.ResponseWriter, r *http.Request) bool {
	_, _ = io.Copy(io.Discard, r.Body) // a server sees that the client has gone only then
	p.count(1, 0)
	select {
	case <-r.Context().Done():
		p.count(-1, 1)
	case <-p.end:
	}
	return true
}

func (p *tarpit) count(hanging, gone int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hanging += hanging
	p.gone += gone
}

// untilHangs waits until so many requests hang.
func (p *tarpit) untilHangs(n int) {
	p.t.Helper()
	await(p.t, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.hanging < n {
			return fmt.Errorf("%d hang, want %d", p.hanging, n)
		}
		return nil
	})
}

// neighbourComes notes what was given up before there was anybody who could have waited for that: on a busy machine it may be much.
func (p *tarpit) neighbourComes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = p.gone
}

// wantStuck checks that what hangs still does. A neighbour that had to wait for its end would have seen more than
// so many requests given up.
func (p *tarpit) wantStuck(most int) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if since := p.gone - p.before; p.hanging == 0 || since > most {
		p.t.Errorf("%d hang, and %d were given up: the neighbour has waited for that", p.hanging, since)
	}
}

// slowly lets requests of a source take as long as they may.
func slowly(source *v1alpha1.FeedSource) {
	source.Spec.Timeout = &metav1.Duration{Duration: 5 * time.Minute}
}

// R3.13: forty feeds that hang, where eight are polled at once. The first poll of a neighbour does not wait for
// them, nor do the feeds of the same namespace that were well.
func TestFeedsThatHangKeepNobodyElseFromBeingPolled(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2)
	hog, neighbour := tenants[0], tenants[1]
	p := newTarpit(t)
	web := feedtest.NewAt(t, "127.0.0.2")
	hog.source("well", web.FeedURL())
	hog.untilSource("well", isRead)
	for i := range 40 {
		hog.source(fmt.Sprint("hangs-", i), p.url(i), slowly)
	}
	p.untilHangs(8)
	p.neighbourComes()
	for i := range 5 {
		at := feedtest.NewAt(t, fmt.Sprintf("127.0.0.%d", 3+i))
		neighbour.source(fmt.Sprint("news-", i), at.FeedURL())
	}
	for i := range 5 {
		neighbour.untilSource(fmt.Sprint("news-", i), isRead)
	}
	hog.poll("well")
	p.wantStuck(16)
}

// R3.13: a feed whose links lead to seventy hosts that hang, where sixteen items of a source are worked on at once.
func TestPagesThatHangKeepNobodyElsesItemsWaiting(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2, func(w *world) { w.workers = 16 })
	hog, neighbour := tenants[0], tenants[1]
	p := newTarpit(t)
	bait := feedtest.New(t)
	entries := bait.Entries("bait", 70)
	for i := range entries {
		entries[i].Link = p.url(i)
	}
	bait.List(entries...)
	hog.source("bait", bait.FeedURL(), slowly)
	p.untilHangs(16)
	p.neighbourComes()
	for i, w := range []*world{neighbour, hog} { // another source of the same namespace is a neighbour too
		web := feedtest.NewAt(t, fmt.Sprintf("127.0.0.%d", 2+i))
		web.List(web.Entries("news", 20)...)
		w.source("news", web.FeedURL())
		w.awaitItems("news", allProcessed(20))
	}
	p.wantStuck(32)
}

// R3.13: eight providers of one namespace that hang, with all the calls that the workers can make.
func TestProvidersThatHangKeepNoNeighbourWaiting(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2, func(w *world) { w.workers = 8 })
	hog, neighbour := tenants[0], tenants[1]
	var servers []*geminitest.Server
	for i := range 8 {
		name := fmt.Sprint("stuck-", i)
		server := hog.gemini(name, func(p *v1alpha1.AIProvider) {
			p.Spec.Timeout = &metav1.Duration{Duration: 10 * time.Minute}
		})
		server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.Hang(), true })
		servers = append(servers, server)
		hog.untilProvider(name, isReady)
		web := feedtest.NewAt(t, fmt.Sprintf("127.0.0.%d", 10+i))
		web.List(web.Entries("stuck", 6)...)
		hog.source(name, web.FeedURL(), summarizedBy(name))
	}
	await(t, func() error {
		calls := 0
		for _, server := range servers {
			calls += len(server.Calls())
		}
		if calls < 8 {
			return fmt.Errorf("%d calls hang", calls)
		}
		return nil
	})
	neighbour.gemini("fine")
	neighbour.untilProvider("fine", isReady)
	web := feedtest.New(t)
	web.List(web.Entries("news", 20)...)
	neighbour.source("news", web.FeedURL(), summarizedBy("fine"))
	neighbour.awaitItems("news", allProcessed(20))
	for i := range 8 {
		hog.awaitItems(fmt.Sprint("stuck-", i), processed(6, 0))
	}
}

// R3.13: posts that hang, one on each item, and with several on each.
func TestPostsThatHangKeepNoNeighbourWaiting(t *testing.T) {
	t.Parallel()
	for name, destinations := range portion.Some(map[string][]string{"one on each item": {"a"}, "several on each item": {"a", "b", "c"}}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenants := newTenants(t, 2, func(w *world) { w.workers = 8 })
			hog, neighbour := tenants[0], tenants[1]
			hangs, fine := hog.mastodon(ignoresKeys), neighbour.mastodon(ignoresKeys)
			t.Cleanup(hangs.Close)
			var mu sync.Mutex
			hanging := 0
			hangs.OnPost(func(p *mastodontest.Pending) bool {
				mu.Lock()
				hanging++
				mu.Unlock()
				p.Hang()
				return true
			})
			many := func(d *v1alpha1.FeedDestination) { d.Spec.MaxConcurrent = new(int32(100)) }
			for _, destination := range destinations {
				hog.openDestination(destination, hangs.URL, patient, many)
			}
			neighbour.openDestination("fine", fine.URL, many)
			for i := range 3 {
				web := feedtest.NewAt(t, fmt.Sprintf("127.0.0.%d", 2+i))
				web.List(web.Entries("stuck", 20)...)
				hog.source(fmt.Sprint("stuck-", i), web.FeedURL(), postsTo(destinations...))
			}
			await(t, func() error {
				mu.Lock()
				defer mu.Unlock()
				if hanging < 8 {
					return fmt.Errorf("%d posts hang", hanging)
				}
				return nil
			})
			web := feedtest.New(t)
			web.List(web.Entries("news", 20)...)
			neighbour.source("news", web.FeedURL(), postsTo("fine"))
			neighbour.awaitItems("news", allProcessed(20))
			mu.Lock()
			defer mu.Unlock()
			if hanging > 32 {
				t.Errorf("%d posts hang at once, and there are 32 places", hanging)
			}
		})
	}
}

// R3.13: services that hang when they are asked about themselves, of which eight are asked at once.
func TestServicesThatCannotBeAskedKeepNoNeighbourWaiting(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2)
	hog, neighbour := tenants[0], tenants[1]
	p := newTarpit(t)
	hog.endlessPort.Store(&p.port)
	for i := range 40 {
		name := fmt.Sprint("hangs-", i)
		hog.destination(name, p.url(i))
		hog.secret(name+"-key", "apiKey", ofGemini.key)
		hog.provider(name, ofGemini.asks(p.url(i), name+"-key"))
	}
	p.untilHangs(16) // eight of each kind; whoever waits for a place there waits in vain
	p.neighbourComes()
	neighbour.gemini("fine")
	neighbour.untilProvider("fine", isReady)
	neighbour.openDestination("fine", neighbour.mastodon().URL)
	p.wantStuck(0)
}

// R1.3, R3.13: a host that many share. One tenant has fifty links there that hang; the other's pages are read.
func TestAHostIsSharedByTurns(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2, func(w *world) { w.perHost = 2 })
	hog, neighbour := tenants[0], tenants[1]
	shared, bait := feedtest.NewAt(t, "127.0.7.1"), feedtest.New(t)
	p := newTarpit(t) // what hangs ends before the server is closed
	shared.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Has("hang") && p.hang(w, r)
	})
	entries := shared.Entries("bait", 50)
	for i := range entries {
		entries[i].Link += "?hang"
	}
	bait.List(entries...)
	hog.source("bait", bait.FeedURL(), slowly)
	p.untilHangs(2)
	p.neighbourComes()
	web := feedtest.NewAt(t, "127.0.0.2")
	web.List(shared.Entries("news", 10)...)
	neighbour.source("news", web.FeedURL())
	neighbour.awaitItems("news", allProcessed(10))
	p.wantStuck(4)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hanging > 2 {
		t.Errorf("%d requests of one namespace at once", p.hanging)
	}
}

// R1.3, R3.13: a tenant who has a host refuse them, for as long as is believed, keeps nobody else from it.
func TestAPauseOfAHostIsThatOfTheNamespaceThatWasRefused(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2)
	hog, neighbour := tenants[0], tenants[1]
	web := feedtest.New(t)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/busy.xml" {
			return false
		}
		rw.Header().Set("Retry-After", "7200")
		rw.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	hog.source("busy", web.URL+"/busy.xml")
	hog.untilSource("busy", func(source *v1alpha1.FeedSource) error {
		return hasReady(source.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPollFailed)
	})
	neighbour.source("news", web.FeedURL())
	neighbour.untilSource("news", isRead)
	hog.source("news", web.FeedURL())
	hog.lookAtSource("news")
	if polls := web.Hits("/feed.xml"); polls != 1 {
		t.Errorf("polled %d times, want once: the namespace that was refused waits", polls)
	}
}

// R1.4, R3.13: six hosts of one tenant die. That is no outage of the network, and nobody else waits; with one host of
// another tenant it looks like one, until anybody has an answer: which those have who are no part of it.
func TestHostsThatDieKeepNobodyElseFromBeingPolled(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 3, func(w *world) {
		w.self = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: operatorPod}
	})
	hog, accomplice, neighbour := tenants[0], tenants[1], tenants[2]
	const n = 6
	daily := func(source *v1alpha1.FeedSource) { source.Spec.Interval = &metav1.Duration{Duration: 24 * time.Hour} }
	web := feedtest.NewAt(t, "127.0.0.2")
	neighbour.source("news", web.FeedURL(), daily)
	neighbour.untilSource("news", isRead)
	h := newHosts(t, hog, n)
	other := feedtest.NewAt(t, "127.0.99.1")
	between := newNetworkAt(t, "127.0.99.1", other.URL)
	accomplice.source("other", between.URL+"/feed.xml", daily)
	accomplice.untilSource("other", isRead)

	h.cut()
	hog.clock.Step(30 * time.Minute)
	hog.untilBlamed(n)
	if told, err := hog.podEvents(t.Context()); err != nil || told[v1alpha1.ReasonNetworkDown] != 0 {
		t.Fatalf("told %v (%v)", told, err)
	}
	neighbour.poll("news")

	h.heal()
	hog.clock.Step(time.Hour)
	hog.untilBlamed(0)
	h.cut()
	between.cut()
	accomplice.annotate(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: accomplice.namespace, Name: "other"}}, v1alpha1.AnnotationPoll, "now")
	hog.clock.Step(30 * time.Minute)
	hog.untilTold(v1alpha1.ReasonNetworkDown)
	neighbour.poll("news") // at once, though it is an outage for others
	hog.untilTold(v1alpha1.ReasonRecovered)
	apitest.Eventually(t, func(ctx context.Context) error {
		blamed, err := hog.blamed(ctx)
		if err == nil && blamed == 0 {
			err = errors.New("nobody is blamed yet")
		}
		return err
	})
}
