// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package polling decides when a feed is polled and which of its entries become items.
//
// It is pure: it gets times and entries and returns decisions. It never knows how a feed is
// fetched, nor what Kubernetes is.
package polling
