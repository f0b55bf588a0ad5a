// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// InPlace is how a call that has failed is repeated within the same attempt (R3.3). The zero value
// never repeats.
type InPlace struct {
	// Repeats is how often one provider or destination is called again at most.
	Repeats int
	// MaxWait is how long one attempt waits in all between its calls at most.
	MaxWait time.Duration
}

// DefaultInPlace is what R3.3 asks for.
var DefaultInPlace = InPlace{Repeats: 3, MaxWait: 10 * time.Second}

// The waits before the first repetition; each further one is twice as long.
const (
	firstWait            = time.Second
	firstWaitForProvider = 500 * time.Millisecond // after an API failure
)

// Wait returns how long to wait before a call is repeated, and whether it is repeated at all. Calls
// is how often that provider or destination was called in this attempt, this failure included, and
// waited how long the attempt has waited already. Seed spreads the waits by a factor from 0.8 to 1.2.
//
// What is repeated is what may pass in seconds: failures of the network, and of the other side. Who
// says when to come back is paused until then; a pace is no failure that repeating cures.
func (p InPlace) Wait(stage v1alpha1.Stage, failed *failure.Error, calls int, waited time.Duration, seed string) (time.Duration, bool) {
	if failed == nil || calls < 1 || calls > p.Repeats || failed.RetryAfter > 0 {
		return 0, false
	}
	first := firstWait
	switch failed.Category {
	case v1alpha1.CategoryNetwork:
	case v1alpha1.CategoryAPI:
		if stage == v1alpha1.StageArticle { // a site that does not have the page yet is not pressed for it
			return 0, false
		}
		if stage != v1alpha1.StageDeliver {
			first = firstWaitForProvider
		}
	case v1alpha1.CategoryRateLimit, v1alpha1.CategoryAuth, v1alpha1.CategoryValidation, v1alpha1.CategoryUnknown:
		return 0, false
	}
	const most = 16 // more would overflow, and no policy means that
	wait := first << min(calls-1, most)
	wait = time.Duration(float64(wait) * (0.8 + 0.4*fraction(seed, calls)))
	return wait, waited+wait <= p.MaxWait
}
