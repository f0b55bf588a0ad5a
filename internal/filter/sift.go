// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/internal/feed"
)

// MaxTime is how long the filters of a source may keep a poll from going on: the context of Sift ends
// then. What is not judged by then waits for the next poll, so no source can keep the others from being polled.
const MaxTime = 10 * time.Second

// Sifted is what the filters say about some entries.
type Sifted struct {
	Kept    []feed.Entry
	Dropped []Dropped
	// Unjudged entries came after the time was up.
	Unjudged []feed.Entry
	Failing  []Failing
}

// Dropped is an entry that is not wanted.
type Dropped struct {
	feed.Entry

	// Why is why not, for a person.
	Why string
}

// Failing is a filter that could not be evaluated for some entries.
type Failing struct {
	Failure

	// Entries is for how many.
	Entries int
}

// Sift divides entries by what the filters say. At least one is judged, however little time there is,
// so that each poll gets on.
func (s *Set) Sift(ctx context.Context, entries []feed.Entry) Sifted {
	if s.Empty() {
		return Sifted{Kept: entries}
	}
	var found Sifted
	for i, entry := range entries {
		if i > 0 && ctx.Err() != nil {
			found.Unjudged = entries[i:]
			break
		}
		said := s.Judge(ctx, entry)
		if said.Keep {
			found.Kept = append(found.Kept, entry)
		} else {
			found.Dropped = append(found.Dropped, Dropped{Entry: entry, Why: said.Why})
		}
		for _, failed := range said.Failures {
			at := slices.IndexFunc(found.Failing, func(f Failing) bool { return f.Failure == failed })
			if at < 0 {
				at = len(found.Failing)
				found.Failing = append(found.Failing, Failing{Failure: failed})
			}
			found.Failing[at].Entries++
		}
	}
	return found
}

// Message returns which filters could not be evaluated; empty: all could.
func (s Sifted) Message() string {
	var said []string
	for _, failing := range s.Failing {
		said = append(said, fmt.Sprintf("The filter %s could not be evaluated for %d of the new entries, and has dropped none of them: %s",
			failing.Filter, failing.Entries, failing.Reason))
	}
	if len(s.Unjudged) > 0 {
		said = append(said, fmt.Sprintf("The filters take too long, so %d of the new entries were not judged in this poll; "+
			"those of a first poll count as seen, others wait for the next poll: make the expressions simpler", len(s.Unjudged)))
	}
	return strings.Join(said, ". ")
}
