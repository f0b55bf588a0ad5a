// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package believable decides which of the times that were noted can be right. Whoever noted them may have had a wrong clock for a moment, and a
// person may have edited them. What is put off to such a time is not put off, and what is said to have happened at one happened at a
// time that is not known; else a moment would hold things up for a year.
//
// It knows times and bounds, and nothing of what they are about: each rule names the longest wait that it sets.
package believable

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Slack is how far clocks may be apart, and a time may be rounded, without making it wrong.
const Slack = time.Minute

// Coming reports whether something can have been put off to a time by a rule that puts it off by so long at most. What is over was.
func Coming(at, now time.Time, longest time.Duration) bool {
	return !at.After(now.Add(longest + Slack))
}

// Past reports whether something can have happened at a time.
func Past(at, now time.Time) bool { return !at.After(now.Add(Slack)) }

// TimeOf is the time that is noted; zero for none.
func TimeOf(at *metav1.MicroTime) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.Time
}
