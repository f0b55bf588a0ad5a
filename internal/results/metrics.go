// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/feed-operator/feed-operator/internal/itemwrites"
)

// The metrics of what the API server does not take. They are counted when somebody asks.
var (
	serverHeld = prometheus.NewDesc("feed_operator_writes_held",
		"1 while the API server refuses all updates of FeedItems, which holds their work; else 0.", nil, nil)
	namespacesHeld = prometheus.NewDesc("feed_operator_writes_held_namespaces",
		"Namespaces in which the API server refuses updates of FeedItems, which holds their work.", nil, nil)
	resultsKept = prometheus.NewDesc("feed_operator_results_kept",
		"FeedItems whose results are kept in memory until the API server accepts them.", nil, nil)
	bytesKept = prometheus.NewDesc("feed_operator_results_kept_bytes",
		"Approximate memory of the results that are kept until the API server accepts them, in bytes.", nil, nil)
)

// Collector is a prometheus.Collector of what the API server does not take.
type Collector struct {
	Writes *itemwrites.Writes
	Kept   *keptResults
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(described chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, described)
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(metrics chan<- prometheus.Metric) {
	server, namespaces := c.Writes.Counts()
	items, bytes := c.Kept.counts()
	for described, value := range map[*prometheus.Desc]float64{
		serverHeld: server, namespacesHeld: float64(namespaces), resultsKept: float64(items), bytesKept: float64(bytes),
	} {
		metrics <- prometheus.MustNewConstMetric(described, prometheus.GaugeValue, value)
	}
}
