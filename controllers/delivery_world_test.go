// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// network is what lies between the operator and a server, and can break.
type network struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
	// URL by which the server is reached through it.
	URL string
}

func newNetwork(t *testing.T, server *mastodontest.Server) *network {
	t.Helper()
	return newNetworkAt(t, "127.0.0.1", server.URL)
}

// newNetworkAt makes a network through which a server is reached at an address.
func newNetworkAt(t *testing.T, address, serverURL string) *network {
	t.Helper()
	inProcess := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(inProcess, "network", net.JoinHostPort(address, "0"), strings.TrimPrefix(serverURL, "http://"))
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return &network{t: t, proxy: proxy, URL: "http://" + proxy.Listen}
}

// breakWith puts a toxic of toxiproxy into it.
func (n *network) breakWith(toxic string) {
	n.t.Helper()
	if _, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		n.t.Fatal(err)
	}
}

// cut makes the server unreachable.
func (n *network) cut() { n.proxy.Stop() }

// heal mends what breakWith and cut have done.
func (n *network) heal() {
	n.t.Helper()
	n.proxy.Toxics.ResetToxics(n.t.Context())
	if err := n.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		n.t.Fatal(err)
	}
}

// The faults of a network, for breakWith.
const (
	answerLost        = `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`
	answerCut         = `{"type":"limit_data","stream":"downstream","attributes":{"bytes":500}}`
	resetAfterSending = `{"type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`
	requestLost       = `{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`
)

// journal notes when a server was asked for what.
type journal struct {
	clock interface{ Now() time.Time }

	mu    sync.Mutex
	posts []time.Time // requests to post
	looks int         // requests that look for a post
}

// watch notes what a server is asked for; a hook, which may be nil, can answer.
func (w *world) watch(server *mastodontest.Server, hook func(http.ResponseWriter, *http.Request) bool) *journal {
	j := &journal{clock: w.clock}
	server.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		j.mu.Lock()
		switch {
		case r.Method == http.MethodPost:
			j.posts = append(j.posts, j.clock.Now())
		case strings.HasSuffix(r.URL.Path, "/statuses") && r.URL.Query().Get("limit") != "1": // with 1 it asks what the token may do
			j.looks++
		}
		j.mu.Unlock()
		return hook != nil && hook(rw, r)
	})
	return j
}

// posted returns when requests to post came, and how often posts were looked for.
func (j *journal) posted() (posts []time.Time, looks int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]time.Time(nil), j.posts...), j.looks
}

// retries sets how often a failed post is tried again.
func retries(most int32) func(*v1alpha1.FeedDestination) {
	return func(described *v1alpha1.FeedDestination) {
		described.Spec.Retry = &v1alpha1.DeliveryRetryPolicy{MaxRetries: &most}
	}
}

// openDestination makes a FeedDestination and waits until it can be posted to.
func (w *world) openDestination(name, serverURL string, change ...func(*v1alpha1.FeedDestination)) *v1alpha1.FeedDestination {
	w.t.Helper()
	w.destination(name, serverURL, change...)
	return w.untilDestination(name, isOpen)
}

func isOpen(d *v1alpha1.FeedDestination) error {
	if d.Status.ObservedGeneration != d.Generation {
		return errors.New("not looked at yet")
	}
	return hasReady(d.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
}

// changeDestination patches a FeedDestination, and waits until the operator has seen it.
func (w *world) changeDestination(name, patch string) {
	w.t.Helper()
	changed := w.patchDestination(name, patch)
	w.untilDestination(name, func(d *v1alpha1.FeedDestination) error {
		if d.Status.ObservedGeneration != changed.Generation {
			return errors.New("not looked at yet")
		}
		return nil
	})
}

// patchDestination patches a FeedDestination, and returns it.
func (w *world) patchDestination(name, patch string) *v1alpha1.FeedDestination {
	w.t.Helper()
	changed := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.client.Patch(w.t.Context(), changed, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
	return changed
}

// oneItem makes a source "news" with one entry.
func (w *world) oneItem(destinations ...string) *v1alpha1.FeedSource {
	w.t.Helper()
	web := feedtest.New(w.t)
	web.List(web.Entries("news", 1)...)
	return w.source("news", web.FeedURL(), postsTo(destinations...))
}

// rowTo returns the delivery of an item to a destination.
func rowTo(item *v1alpha1.FeedItem, name string) (*v1alpha1.Delivery, error) {
	for i := range item.Status.Deliveries {
		if item.Status.Deliveries[i].Destination == name {
			return &item.Status.Deliveries[i], nil
		}
	}
	return nil, fmt.Errorf("no delivery to %q: %s/%s", name, item.Status.Phase, item.Status.Reason)
}

// hasFailed checks that attempts to post an item have failed so often, and that none is under way.
func hasFailed(name string, attempts int32) func(*v1alpha1.FeedItem) error {
	return func(item *v1alpha1.FeedItem) error {
		row, err := rowTo(item, name)
		if err == nil && (row.FailedAttempts != attempts || row.Failure == nil) {
			err = fmt.Errorf("delivery %+v, want %d failed attempts", row, attempts)
		}
		return err
	}
}

// inState checks the state of a delivery.
func inState(name string, state v1alpha1.DeliveryState) func(*v1alpha1.FeedItem) error {
	return func(item *v1alpha1.FeedItem) error {
		row, err := rowTo(item, name)
		if err == nil && row.State != state {
			err = fmt.Errorf("delivery %+v of an item that is %s/%s, want %s", row, item.Status.Phase, item.Status.Reason, state)
		}
		return err
	}
}

// lookAtItems has the operator look at the items of a source, and gives what is wrong the time to happen.
func (w *world) lookAtItems(source string) {
	w.t.Helper()
	items, err := w.items(w.t.Context(), source)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range items {
		w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[i]))
	}
	w.poll(source)
}

// untilEnded lets time pass from one attempt to the next until all items of a source have ended,
// and returns them.
func (w *world) untilEnded(source string, n int) []v1alpha1.FeedItem {
	w.t.Helper()
	idle, before := 0, ""
	return w.untilItems(source, func(items []v1alpha1.FeedItem) error {
		if len(items) != n {
			return fmt.Errorf("%d items, want %d", len(items), n)
		}
		var next *metav1.Time
		var err error
		waiting, now := true, ""
		for i := range items {
			status := &items[i].Status
			now += items[i].ResourceVersion + " "
			if items[i].Terminal() {
				continue
			}
			err = fmt.Errorf("%s is %s/%s: %+v", items[i].Name, status.Phase, status.Reason, status.Deliveries)
			waiting = waiting && status.Phase == v1alpha1.PhaseDeferred && status.NextRetryTime != nil
			if waiting && (next == nil || status.NextRetryTime.Before(next)) {
				next = status.NextRetryTime
			}
		}
		switch {
		case err == nil || !waiting:
		case next.After(w.clock.Now()):
			w.clock.SetTime(next.Time)
		case now != before:
			idle, before = 0, now
		default:
			if idle++; idle == 40 { // it waits for the destination, which has a pause of its own
				idle = 0
				w.clock.Step(time.Minute)
			}
		}
		return err
	})
}

// ids are the ids of the posts at a destination that items hold, and fails where two hold the same.
func ids(items []v1alpha1.FeedItem, destination string) (map[string]string, error) {
	held := map[string]string{}
	for i := range items {
		row, err := rowTo(&items[i], destination)
		if err != nil {
			return nil, err
		}
		if other, twice := held[row.ID]; twice {
			return nil, fmt.Errorf("the post %q is on two items, %s and %s", row.ID, other, items[i].Name)
		}
		held[row.ID] = items[i].Name
	}
	return held, nil
}

// apiServer is the API server of all tests; in the tests of destinations "server" is another one.
func apiServer() *apitest.Server { return server }
