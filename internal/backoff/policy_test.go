// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
)

var usual = backoff.Of(&v1alpha1.FeedSource{})

// R3.4
func TestDelayKeepsItsBounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy   backoff.Policy
		count    int
		from, to time.Duration
	}{
		"the first wait":                       {usual, 0, 5 * time.Minute, 6 * time.Minute},
		"the last wait of the usual policy":    {usual, 4, 80 * time.Minute, 96 * time.Minute},
		"a wait above the cap":                 {usual, 9, 24 * time.Hour, 24 * time.Hour},
		"a count that overflows":               {usual, math.MaxInt32, 24 * time.Hour, 24 * time.Hour},
		"a count that somebody made negative":  {usual, -7, 5 * time.Minute, 6 * time.Minute},
		"a multiplier of one":                  {backoff.Policy{InitialDelay: time.Minute, MaxDelay: time.Hour, Multiplier: 1}, 50, time.Minute, 72 * time.Second},
		"no multiplier at all":                 {backoff.Policy{InitialDelay: time.Minute, MaxDelay: time.Hour}, 3, time.Minute, 72 * time.Second},
		"an initial delay as long as the cap":  {backoff.Policy{InitialDelay: time.Hour, MaxDelay: time.Hour, Multiplier: 2}, 0, time.Hour, time.Hour},
		"an initial delay of nothing at all":   {backoff.Policy{MaxDelay: time.Hour, Multiplier: 2}, 5, 0, 0},
		"an infinite product of nothing (NaN)": {backoff.Policy{MaxDelay: time.Hour, Multiplier: 10}, math.MaxInt32, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range []string{"", "a", "b", "c", "0b0d7f8e"} {
				if got := test.policy.Delay(test.count, seed); got < test.from || got > test.to {
					t.Errorf("delay %s for %q, want %s to %s", got, seed, test.from, test.to)
				}
			}
		})
	}
}

func TestDelaySpreadsItems(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for seed := range 200 {
		seen[usual.Delay(0, string(rune('a'+seed))).Truncate(time.Second)] = true
	}
	if len(seen) < 40 {
		t.Errorf("200 items wait only %d different times", len(seen))
	}
}
