// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"slices"

	"github.com/feed-operator/feed-operator/internal/feed"
)

// Plan is what becomes of the entries that a source has not seen before.
type Plan struct {
	// Create are the entries that become items, the oldest first.
	Create []feed.Entry
	// Remember are the entries that are only remembered as seen.
	Remember []feed.Entry
	// Held are entries that would become items if there were room; they are neither created nor
	// remembered, so that a later poll finds them again.
	Held int
}

// First bounds the first poll of a source.
type First struct {
	// Poll is set at the first poll of a URL.
	Poll bool
	// Items is how many of the newest entries become items then.
	Items int
}

// Hold leaves in the feed what was to be created and is not among the first so many: the API server does not take it.
func (p *Plan) Hold(created int) {
	p.Held += len(p.Create) - created
	p.Create = p.Create[:created]
}

// PlanFresh divides entries that were never seen, given in document order, into those that
// become items and those that do not. Room is how many items may be created now.
func PlanFresh(fresh []feed.Entry, first First, room int) Plan {
	ordered := newestFirst(fresh)
	var plan Plan
	if first.Poll && len(ordered) > first.Items {
		plan.Remember = ordered[first.Items:]
		ordered = ordered[:first.Items]
	}
	slices.Reverse(ordered)
	room = max(room, 0)
	if len(ordered) > room {
		plan.Held = len(ordered) - room
		ordered = ordered[:room]
	}
	plan.Create = ordered
	return plan
}

// newestFirst orders by date where every entry has one, and else as the document does: feeds list
// the newest first.
func newestFirst(entries []feed.Entry) []feed.Entry {
	ordered := slices.Clone(entries)
	for _, entry := range ordered {
		if entry.Published.IsZero() {
			return ordered
		}
	}
	slices.SortStableFunc(ordered, func(a, b feed.Entry) int { return b.Published.Compare(a.Published) })
	return ordered
}
