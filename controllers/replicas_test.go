// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wrongClock is that of a machine whose clock is set wrong.
type wrongClock struct {
	clock.RealClock
	ahead time.Duration
}

func (c wrongClock) Now() time.Time                   { return c.RealClock.Now().Add(c.ahead) }
func (c wrongClock) Since(at time.Time) time.Duration { return c.Now().Sub(at) }

// hears has an operator hear an API server whose clock is ahead.
func hears(ahead time.Duration) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
				answer.Header.Set("Date", date.Add(ahead).UTC().Format(http.TimeFormat))
			}
			return answer, nil
		})
	}
}

// replica starts an operator on a machine whose clock is set wrong. It returns what has it look at an item.
func replica(t *testing.T, namespace string, ahead time.Duration, through ...func(http.RoundTripper) http.RoundTripper) (lookAt func(kind string, name types.NamespacedName)) {
	t.Helper()
	now := apiclock.New(wrongClock{ahead: ahead})
	reaching := rest.CopyConfig(server.Config)
	for _, wrap := range through {
		reaching.Wrap(wrap)
	}
	reaching.Wrap(now.Wrap)
	manager, err := ctrl.NewManager(reaching, ctrl.Options{
		Scheme: apitest.Scheme(), Cache: controllers.CacheOptions(namespace), Client: controllers.ClientOptions(),
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := outbound.New(outbound.Config{
		UserAgent: "feed-operator/test", AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, Now: now.Now,
	})
	lookAt, err = controllers.SetupForTest(t.Context(), manager, controllers.Options{
		Clock: now, Outbound: out, Providers: connect.Providers(out), Destinations: connect.Destinations(out), Builtin: extractive.New(),
		Namespaces: []string{namespace}, ItemWorkers: 8, PollWorkers: 8, RequestsPerHost: 8,
	}, controllers.ForTest{HasKinds: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("operator: %v", err)
		}
	})
	return lookAt
}

// R4.4, R3.14: two replicas whose clocks differ work at the same time, because one was deposed and does not know it yet. While one is in
// the call to post, the other does not take that for over: the post is made once.
func TestReplicasWhoseClocksDifferDoNotPostTwice(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{70 * time.Second, time.Hour, 24 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			item := postedOnceBy(t,
				func(namespace string) { replica(t, namespace, -skew/2) },
				func(namespace string) func(string, types.NamespacedName) { return replica(t, namespace, skew/2) })
			for name, at := range map[string]*metav1.Time{"first attempt": item.Status.Deliveries[0].FirstAttemptTime, "last check": item.Status.LastCheckTime} {
				if off := at.Sub(item.CreationTimestamp.Time).Abs(); off > 2*time.Minute {
					t.Errorf("%s is %s off the API server's time", name, off)
				}
			}
		})
	}
}

// R4.4, R3.14: so it is where the API servers' clocks differ: there are several behind a load balancer, or the clock of the only one is set
// forward while an operator is in the call to post, and another one takes over.
func TestReplicasOfAPIServersWhoseClocksDifferDoNotPostTwice(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{70 * time.Second, time.Hour, 24 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			postedOnceBy(t,
				func(namespace string) { replica(t, namespace, 0) },
				func(namespace string) func(string, types.NamespacedName) {
					return replica(t, namespace, 0, hears(ahead))
				})
		})
	}
}

// postedOnceBy has an operator begin to post an item, and another one work on it meanwhile, and checks that it is posted once.
func postedOnceBy(t *testing.T, first func(namespace string), second func(namespace string) func(string, types.NamespacedName)) *v1alpha1.FeedItem {
	t.Helper()
	w := &world{t: t, api: server, client: server.Client, namespace: server.Namespace(t)} // without an operator of its own
	press := mastodontest.New(mastodontest.Options{Token: accessToken, TokenMayRead: true, Keys: mastodontest.IgnoresKeys, Version: mastodontest.GoToSocial})
	t.Cleanup(press.Close)
	gate, asked := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	var calls atomic.Int32
	press.OnPost(func(*mastodontest.Pending) bool {
		if calls.Add(1) == 1 {
			close(asked)
			<-gate
		}
		return false
	})

	first(w.namespace)
	w.lookAt = func(string, types.NamespacedName) {}
	w.openDestination("press", press.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	select {
	case <-asked:
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody posts")
	}

	lookAt := second(w.namespace)
	items, err := w.items(t.Context(), "news")
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	others := feedtest.NewAt(t, "127.0.0.77")
	for i := range 5 { // each shows that somebody works, for a while
		lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[0]))
		name := fmt.Sprintf("other-%d", i)
		w.source(name, others.FeedURL())
		w.untilSource(name, func(source *v1alpha1.FeedSource) error {
			if source.Status.LastPollTime == nil {
				return errors.New("not polled yet")
			}
			return nil
		})
	}
	if got := calls.Load(); got != 1 {
		t.Errorf("%d requests to post while one is under way", got)
	}
	release()
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if posts := press.Posts(); len(posts) != 1 || item.Status.Deliveries[0].ID != posts[0].ID {
		t.Errorf("%d posts; delivery %+v", len(posts), item.Status.Deliveries[0])
	}
	return item
}
