// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service is the controller of AIProvider and of FeedDestination: it reports whether a service can be called, and opens it to those
// who wait for it. What the kinds do differently is behind the interface kind.
//
// Read Reconciler.Reconcile.
package service
