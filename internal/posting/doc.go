// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package posting is the way to one destination: what is known of it, and what the schedule has granted there. Deliveries and
// notifications take the same way.
//
// It must never decide what is posted, or write down what came of it.
package posting
