// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feedmemory reads and writes the memory of a source in the API server: what was ever seen in its feed (package seen), what tells
// whether the feed has changed, and how many items it has made today.
//
// It must never decide which entries become items.
package feedmemory
