// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package feed

// inflation is how many times as much is allocated as usual.
const inflation = 1
