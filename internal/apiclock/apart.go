// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiclock

import (
	"time"

	"github.com/feed-operator/feed-operator/internal/believable"
)

// PassedBy is how much time has passed by a clock since some moment, whatever it is set to where it can tell.
func PassedBy(clock interface{ Now() time.Time }) time.Duration {
	if counts, can := clock.(interface{ Passed() time.Duration }); can {
		return counts.Passed()
	}
	return clock.Now().Sub(time.Unix(0, 0))
}

// MostApart is how far the API server's clock and the machine's may be apart where something is removed for its age: that does not
// come back when the clock is set right. ApartAgain is when it is looked again.
const MostApart, ApartAgain = 24*time.Hour + believable.Slack, 10 * time.Minute

// Apart is how far the API server's clock and the machine's are apart, as far as that is known.
func Apart(clock any) time.Duration {
	if two, knows := clock.(interface{ Ahead() (time.Duration, bool) }); knows {
		if ahead, known := two.Ahead(); known {
			return ahead.Abs()
		}
	}
	return 0
}
