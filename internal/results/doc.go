// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package results writes on items what became known of them: what an attempt at a summary came to, what a notification came to, and what
// a delivery came to, which package delivery describes. Where that makes an item fail for good, the same write queues the notifications
// of it. What the API server does not take is kept in memory, bounded, and written once it does (R3.14). What is written is then told: as Events,
// as metrics and in the stream of what happens.
//
// It must never call a provider, a destination or a page: it is given what they answered.
package results
