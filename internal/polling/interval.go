// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import "time"

// MaxInterval is the longest that failures, or a feed's own word, make the interval.
const MaxInterval = 24 * time.Hour

// EffectiveInterval is the interval after so many failures in a row: it doubles with each of them
// up to MaxInterval, and never ends. Failures never shorten it.
func EffectiveInterval(interval time.Duration, failures int) time.Duration {
	longest := max(interval, MaxInterval)
	for range failures {
		if interval >= longest {
			return longest
		}
		interval *= 2
	}
	return min(interval, longest)
}

// Declared is the interval of a feed that says for how long it will not change (ttl, max-age,
// Expires): that long, up to MaxInterval, because some say a year and do not mean it; and in whole
// minutes, because some say another second each time. It is never shorter than the interval.
func Declared(interval, fresh time.Duration) time.Duration {
	fresh = min(max(fresh, 0), MaxInterval)
	if rest := fresh % time.Minute; rest > 0 {
		fresh += time.Minute - rest
	}
	return max(interval, fresh)
}

// InForce is the interval that was written down, within the bounds that it can have for the
// source's own interval: a person may have edited it.
func InForce(interval, recorded time.Duration) time.Duration {
	return min(max(interval, recorded), max(interval, MaxInterval))
}
