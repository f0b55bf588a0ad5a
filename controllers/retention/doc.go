// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retention removes finished items once they are older than their source keeps them, or more than it keeps.
//
// Read Reconciler.Reconcile. It must never remove what is to be tried again, or what would be posted again.
package retention
