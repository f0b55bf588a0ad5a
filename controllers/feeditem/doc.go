// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feeditem is the controller of FeedItem: it finds the first thing that is missing on an item, and has it done: by package attempt
// what comes before the summary, by package delivery the posts, by package notices what is told of an item that has failed for good.
//
// Read Reconciler.Reconcile.
package feeditem
