// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attempt makes the summaries of items: it reads the article, has it judged where the source wants that, and has it summarized by
// the providers that stand in for each other. Where a provider or the host of the page is not free, the item waits in their lines, and the
// attempt is kept in memory until it goes on.
//
// Read Engine.Summarize for the order of things. It knows pages and providers, and nothing of destinations but the port Poster.
package attempt
