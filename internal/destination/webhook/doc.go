// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook sends what destinations are to have of items as JSON by POST: to programs, and to chats.
//
// It knows what the bodies look like (Writer, whose formats are expressions in one table), and how one is sent: signed, with its
// idempotency key, and what the answer means (Client). It makes one request for one delivery, and never waits. It must never let
// the token, the signing key, the URL, which may be a secret by itself, or the body of an answer into an error.
package webhook
