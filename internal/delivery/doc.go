// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery makes the posts of items, each exactly once: it finds out whether the destination has a post of the entry already,
// writes down the intent of one that is to be made, makes it, and has written what came of it. After a crash it goes on from what is
// written: an intent without a result is looked up at the destination before anything is sent (R4.4).
//
// Read Engine.Deliver for what is due, Engine.begin for how each delivery goes on by itself, Engine.runDelivery for the order of look-up, claim and
// call, and Engine.publish for the call itself.
//
// It knows destinations, and nothing of articles and summaries but the item that holds them.
package delivery
