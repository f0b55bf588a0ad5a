// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the life of a FeedItem as arithmetic: what is to be done with an item now
// (Next), what the item looks like after an attempt (Settle), and what a forced retry does to it
// (RetryNow).
//
// An item's status holds recorded facts, not a program counter: Next looks for the first fact
// that is missing. So an attempt may be cut off anywhere, and the next one goes on from what was
// written down.
//
// What each attempt has come to is entered in the item's history, in the same write.
//
// It is pure: the time is a parameter, and it never knows HTTP, Kubernetes clients or providers.
package lifecycle
