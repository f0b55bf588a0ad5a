// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboard is the web page of the operator: what needs a person, what waits, how providers, destinations and sources are, and what has
// become of each item.
//
// It reads the manager's cache, and of the API server no more than single items whose texts the cache does not hold. All viewers share one
// Snapshot, which is taken about once a second at most, and only while somebody looks; what a person may see is cut out of it. It knows nothing
// of how anything is done: it never calls a feed, a provider or a destination, and writes only what a person presses, as annotations and as
// spec.suspend.
package dashboard
