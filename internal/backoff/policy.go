// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backoff says how long to wait after a failure: between the attempts at an item or a delivery, and between the calls of one attempt.
//
// It is arithmetic. It must never know what has failed, nor when.
package backoff

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"
)

// MaxHint bounds how far a server's Retry-After can move a retry, so that a nonsensical one does
// not park an item for years.
const MaxHint = 7 * 24 * time.Hour

// maxJitter is how much longer than promised a wait may become, as a part of the wait.
const maxJitter = 0.2

// Policy is how often and when a failed item is tried again.
type Policy struct {
	// MaxRetries is how many failed retries make the item fail for good.
	MaxRetries int
	// InitialDelay is the wait before the first retry.
	InitialDelay time.Duration
	// MaxDelay is the longest wait, jitter included.
	MaxDelay time.Duration
	// Multiplier is how much longer each wait is than the one before it.
	Multiplier int
}

// Of returns the policy that the spec of a source or a destination asks for.
func Of(spec interface {
	MaxRetries() int
	RetryDelays() (initial, longest time.Duration, multiplier int)
},
) Policy {
	initial, longest, multiplier := spec.RetryDelays()
	return Policy{
		MaxRetries:   spec.MaxRetries(),
		InitialDelay: initial,
		MaxDelay:     longest,
		Multiplier:   multiplier,
	}
}

// Delay returns the wait after a failure that leaves the item with retryCount failed retries:
// InitialDelay at 0, Multiplier times the one before at each further count, MaxDelay at most.
// Seed spreads the waits of different items by a factor from 1.0 to 1.2; the same seed and count
// always give the same wait. Counts that cannot be (negative ones) count as 0.
func (p Policy) Delay(retryCount int, seed string) time.Duration {
	delay := float64(p.InitialDelay) * math.Pow(float64(max(p.Multiplier, 1)), float64(max(retryCount, 0)))
	delay *= 1 + maxJitter*fraction(seed, retryCount)
	if longest := float64(p.MaxDelay); !(delay < longest) { // NaN and Inf are not below anything
		delay = longest
	}
	return time.Duration(delay)
}

// fraction is a number from 0 (included) to 1 (excluded) that follows from its arguments.
func fraction(seed string, retryCount int) float64 {
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, seed, "#", retryCount)
	return float64(mix(hash.Sum64())>>11) / (1 << 53)
}

// mix spreads the bits of a hash whose inputs differ in their last byte only (the finalizer of
// MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
