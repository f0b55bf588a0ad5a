// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// proxied puts a network with a fault between the client and the server, and returns its address.
func proxied(t *testing.T, server *mastodontest.Server, toxic string) string {
	t.Helper()
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "network", "127.0.0.1:0", strings.TrimPrefix(server.URL, "http://"))
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	if toxic != "" {
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			t.Fatal(err)
		}
	}
	return "http://" + proxy.Listen
}

// R4.4: whatever the network does once there is a connection, nobody knows what was published,
// and the request is not repeated. What was published is found.
func TestFaultsOfTheNetworkAreUncertain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		toxic string
		// arrives is set if the request gets through.
		arrives bool
		// hangs is set if nothing ends the exchange but the caller.
		hangs bool
	}{
		"the connection is reset as the request is sent": {toxic: `{"type":"reset_peer","stream":"upstream","attributes":{"timeout":0}}`},
		"the request is cut off":                         {toxic: `{"type":"limit_data","stream":"upstream","attributes":{"bytes":100}}`},
		"the request never arrives":                      {toxic: `{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`, hangs: true},
		"the connection is reset as the answer is sent":  {toxic: `{"type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`, arrives: true},
		"the answer is cut off in its status":            {toxic: `{"type":"limit_data","stream":"downstream","attributes":{"bytes":10}}`, arrives: true},
		"the answer is cut off in its header":            {toxic: `{"type":"limit_data","stream":"downstream","attributes":{"bytes":100}}`, arrives: true},
		"the answer is cut off in its body":              {toxic: `{"type":"limit_data","stream":"downstream","attributes":{"bytes":500}}`, arrives: true},
		"the answer never arrives":                       {toxic: `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`, arrives: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{})
			client := newClient(t, proxied(t, server, test.toxic))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.hangs {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			post := destination.Post{Text: "Summary " + link, Link: link}
			_, err := client.Deliver(ctx, "key", post)
			wantUncertain(t, err)
			if !test.arrives {
				return
			}
			posts, err := server.Await(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if server.Count(posting) != 1 {
				t.Errorf("%d requests, want 1", server.Count(posting))
			}
			found, ok, err := newClient(t, server.URL).Find(t.Context(), destination.Query{Since: start.Add(-time.Minute), Post: post})
			if err != nil || !ok || found.ID != posts[0].ID {
				t.Errorf("found %+v, %t, %v, want %s", found, ok, err, posts[0].ID)
			}
		})
	}
}

// wantUncertain asks for a failure that is tried again once the server was asked. An answer that is
// cut off before its body is malformed to net/http, so that the category may be either.
func wantUncertain(t *testing.T, err error) {
	t.Helper()
	got := failed(t, err)
	if destination.Certain(err) || !failure.Retryable(got.Category) || got.Status != 0 {
		t.Errorf("got %s, %s, status %d, certain %t: %v", got.Category, got.Type, got.Status, destination.Certain(err), err)
	}
}

func TestSlowNetworksDoNoHarm(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"upstream", "downstream"} {
		server := newServer(t, mastodontest.Options{})
		toxic := fmt.Sprintf(`{"type":"slicer","stream":%q,"attributes":{"average_size":50,"size_variation":10,"delay":100}}`, stream)
		receipt, err := newClient(t, proxied(t, server, toxic)).Deliver(t.Context(), "key", destination.Post{Text: "Summary"})
		if err != nil || receipt.ID != server.Posts()[0].ID {
			t.Errorf("%s: got %+v, %v", stream, receipt, err)
		}
	}
}

// R4.4: not "there is none" where nobody could say.
func TestFindThroughFaultsIsAnError(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{0, 10, 700, 1500, 2500} {
		server := newServer(t, mastodontest.Options{})
		server.Publish(published(0))
		toxic := fmt.Sprintf(`{"type":"limit_data","stream":"downstream","attributes":{"bytes":%d}}`, bytes)
		client := newClient(t, proxied(t, server, toxic))
		receipt, found, err := client.Find(t.Context(), destination.Query{Since: start.Add(-time.Minute), Post: wanted})
		switch {
		case err == nil && found: // Each connection has its own limit, and a short answer may fit.
		case err == nil:
			t.Errorf("%d bytes: there is none, it says", bytes)
		default:
			wantUncertain(t, err)
			if receipt != (destination.Receipt{}) {
				t.Errorf("got the receipt %+v along with %v", receipt, err)
			}
		}
	}
}
