// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import "time"

// alignment is the time within which polls are begun together.
const alignment = 250 * time.Millisecond

// Together delays a poll by less than a quarter of a second, so that those that are due within that begin together: to wake up for each of thousands by
// itself costs as much as a good part of a poll.
func Together(poll time.Time) time.Time {
	if poll.IsZero() {
		return poll
	}
	return poll.Add(alignment - 1).Truncate(alignment)
}
