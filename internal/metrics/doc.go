// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics holds every metric of the operator that controller-runtime does not have already. What they are called and what they mean is in
// metrics.go, and for people in docs/metrics.md.
//
// Counters and histograms are fed by what happens: by the stream of events of items (hear.go), by calls, polls and writes. Gauges of how many there are
// now are worked out when somebody asks (now.go), from the cache. No label has the name of an object: each has its values from a closed set, so that
// neither a tenant nor the author of a feed makes the metrics grow.
package metrics
