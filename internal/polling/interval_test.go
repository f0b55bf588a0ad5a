// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/polling"
)

// R1.4
func TestEffectiveIntervalDoublesUpToADay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		interval time.Duration
		failures int
		want     time.Duration
	}{
		"no failure":                          {15 * time.Minute, 0, 15 * time.Minute},
		"one failure":                         {15 * time.Minute, 1, 30 * time.Minute},
		"three failures":                      {15 * time.Minute, 3, 2 * time.Hour},
		"many failures":                       {15 * time.Minute, 40, 24 * time.Hour},
		"very many failures":                  {time.Minute, 1 << 30, 24 * time.Hour},
		"a negative count":                    {time.Minute, -1, time.Minute},
		"an interval above a day stays":       {72 * time.Hour, 0, 72 * time.Hour},
		"failures never shorten the interval": {72 * time.Hour, 5, 72 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := polling.EffectiveInterval(test.interval, test.failures); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// R1.3: what a feed declares lengthens the interval, within a day, and never shortens it.
func TestAFeedMayLengthenTheIntervalOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ interval, fresh, want time.Duration }{
		"nothing declared":           {15 * time.Minute, 0, 15 * time.Minute},
		"less than the interval":     {15 * time.Minute, 5 * time.Minute, 15 * time.Minute},
		"an hour":                    {15 * time.Minute, time.Hour, time.Hour},
		"part of a minute":           {15 * time.Minute, 61*time.Minute + time.Second, 62 * time.Minute},
		"a year, which nobody means": {15 * time.Minute, 365 * 24 * time.Hour, 24 * time.Hour},
		"less than nothing":          {15 * time.Minute, -time.Hour, 15 * time.Minute},
		"an interval above a day":    {72 * time.Hour, 48 * time.Hour, 72 * time.Hour},
		"more than time can be":      {time.Minute, 1<<63 - 1, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := polling.Declared(test.interval, test.fresh); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// R1.3, R1.4: whatever somebody wrote into the status, polling neither hurries nor ends.
func TestTheIntervalInForceHasBounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ interval, recorded, want time.Duration }{
		"nothing recorded":  {15 * time.Minute, 0, 15 * time.Minute},
		"a longer one":      {15 * time.Minute, 6 * time.Hour, 6 * time.Hour},
		"a shorter one":     {15 * time.Minute, time.Second, 15 * time.Minute},
		"a century":         {15 * time.Minute, 876000 * time.Hour, 24 * time.Hour},
		"less than nothing": {15 * time.Minute, -time.Hour, 15 * time.Minute},
		"longer than a day": {72 * time.Hour, 100 * time.Hour, 72 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := polling.InForce(test.interval, test.recorded); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
