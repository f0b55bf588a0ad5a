// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R4.6, R5.4, R6.3: of two replicas one works. Both serve the published feeds, the page and metrics.
func TestWhoStandsByServesFeedsPageAndMetrics(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	type replica struct{ feeds, page, metrics string }
	var replicas []replica
	for range 2 {
		r := replica{apitest.FreeAddress(t), apitest.FreeAddress(t), apitest.FreeAddress(t)}
		keepWith(t, server.Kubeconfig, namespace, "--leader-elect", "--leader-election-namespace="+namespace,
			"--feeds-bind-address="+r.feeds, "--dashboard-bind-address="+r.page, "--metrics-bind-address="+r.metrics)
		replicas = append(replicas, r)
	}
	web := feedtest.New(t)
	web.List(web.Entries("tide", 1)...)
	source := &v1alpha1.FeedSource{ObjectMeta: named(namespace, "news")}
	source.Spec.URL = web.FeedURL()
	if err := server.Client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	title := web.Entries("tide", 1)[0].Title
	for _, r := range replicas {
		for url, want := range map[string]string{
			"http://" + r.feeds + "/feeds/" + namespace + "/news.atom": title,
			"http://" + r.page + "/?q=" + namespace:                    "news",
			"http://" + r.metrics + "/metrics":                         "feed_operator_shard_held",
		} {
			fetchUntil(t, url, want)
		}
	}
}
