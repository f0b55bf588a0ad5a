// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package feed

// inflation is how many times as much is allocated with the race detector, which throws away much of what is pooled.
const inflation = 8
