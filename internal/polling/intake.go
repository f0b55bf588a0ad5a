// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import "time"

// day is how long an intake counts: from midnight to midnight UTC, as the tokens of a provider do, so that a
// person can say when it begins anew.
const day = 24 * time.Hour

// Intake is how many items a source has created on one day. It is a value that can be written down and restored.
// The zero Intake is of no day.
type Intake struct {
	// Day is the midnight, UTC, with which the day begins.
	Day time.Time
	// Created is how many items were created on it.
	Created int
}

// On turns to the day of a time, which counts anew. A clock that goes back over a midnight stays in the later
// day; what was counted in a day farther ahead, by a clock that was wrong, is taken to be of today. So a
// jump of the clock gives a source two days' items more at most, that of the day which it skips and that of a midnight which comes
// earlier for it, and keeps it waiting until the next day has ended
// at most.
func (i Intake) On(now time.Time) Intake {
	today := now.UTC().Truncate(day)
	switch {
	case i.Day.Equal(today), i.Day.Equal(today.Add(day)):
		return i
	case i.Day.After(today):
		return Intake{Day: today, Created: i.Created}
	}
	return Intake{Day: today}
}

// AtLeast returns the larger of what two have counted today: one of them may be older than the other, or lost.
func (i Intake) AtLeast(other Intake, now time.Time) Intake {
	i, other = i.On(now), other.On(now)
	if other.Day.After(i.Day) {
		i.Day = other.Day
	}
	i.Created = max(i.Created, other.Created)
	return i
}

// Plus returns what is counted when so many items more were created now.
func (i Intake) Plus(items int, now time.Time) Intake {
	i = i.On(now)
	i.Created += items
	return i
}

// Room is how many items may still be created today.
func (i Intake) Room(perDay int, now time.Time) int { return max(perDay-i.On(now).Created, 0) }

// Ends is when the day is over.
func (i Intake) Ends() time.Time { return i.Day.Add(day) }
