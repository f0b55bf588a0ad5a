// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feedsource is the controller of FeedSource: it polls feeds, makes an item of each new entry, and says on the source how that goes.
//
// Read Reconciler.Reconcile for what is due, and Reconciler.poll for the way of a document from the request to items.
package feedsource
