// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers makes and wires what works on the kinds. Each story has a package of its own below it: feedsource, feeditem,
// service and retention.
//
// How it writes, for all kinds:
//
//   - What decides about work is read live; the cache only says what may be worth a look.
//   - Every patch of a status carries the resourceVersion it was worked out from. A result that
//     meets a newer version is worked out again on that version, and not lost.
//   - From the first call that costs something on, a stop of the manager no longer ends the
//     work: the call and the writing of its result have a deadline of their own.
package controllers
