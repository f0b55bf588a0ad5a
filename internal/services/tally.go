// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/quota"
)

// Tally is what calls have come to since the status was written.
type Tally struct {
	// token names the tally on the status that it was added to; empty where there is nothing to add.
	token string
	// open reports whether nobody has written it yet, as far as is known; nil where there is nothing to add.
	open          func() bool
	Calls, Tokens int64
	failures      map[v1alpha1.Category]int64
	lastFailure   *v1alpha1.Failure
	LastSuccess   time.Time
	// Posts is how many posts of items are known to stand since, whichever call has shown that, and lastPost when the last was.
	Posts    int64
	LastPost time.Time
	// Duplicates is how many of them the receiver had already.
	Duplicates int64
	// EventsSent and EventsDropped are what has become of events of items.
	EventsSent, EventsDropped int64
	// Today is what is to be written of the tokens of the day. It is not a count since.
	Today quota.Tokens
}

// most is where the counters of a status stop. Up to 2^53 a number of JSON is the same for whoever reads it,
// and the API server takes no patch whose numbers are none of int64.
const most = 1e15

// Sum adds to a counter of a status, whatever that has come to.
func Sum(counter, added int64) int64 {
	return min(min(max(counter, 0), most)+min(max(added, 0), most), most)
}

func (t *Tally) empty() bool {
	return t.Calls == 0 && t.Posts == 0 && t.EventsSent == 0 && t.EventsDropped == 0
}

func newTally() Tally { return Tally{failures: map[v1alpha1.Category]int64{}} }

// AddTo adds the tally to what the status holds, once, however often and by how many it is written: the answer to a write may be lost, and while the
// operator stops each call that ends has it written. It reports whether the rest, which is not the same for all kinds, is to be added too.
func (t *Tally) AddTo(status *v1alpha1.ServiceStatus) bool {
	if t.token == "" || t.token == status.CountsToken {
		return false
	}
	if addedByAnother := !t.open(); addedByAnother { // and followed by more, under another token
		return false
	}
	status.CountsToken = t.token
	failures := maps.Clone(t.failures)
	for i := range status.Failures {
		counted := &status.Failures[i]
		counted.Count = Sum(counted.Count, failures[counted.Category])
		delete(failures, counted.Category)
	}
	for _, category := range []v1alpha1.Category{
		v1alpha1.CategoryNetwork, v1alpha1.CategoryRateLimit, v1alpha1.CategoryAPI,
		v1alpha1.CategoryAuth, v1alpha1.CategoryValidation, v1alpha1.CategoryUnknown,
	} {
		if count := failures[category]; count > 0 {
			status.Failures = append(status.Failures, v1alpha1.CategoryCount{Category: category, Count: count})
		}
	}
	if t.lastFailure != nil {
		status.LastFailure = t.lastFailure
	}
	return true
}

// TimeOrKeep is a time as a status holds it; what it holds already where the time is zero.
func TimeOrKeep(at time.Time, kept *metav1.Time) *metav1.Time {
	if at.IsZero() {
		return kept
	}
	return &metav1.Time{Time: at}
}
