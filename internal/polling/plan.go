// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"slices"
	"time"

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

// First bounds what becomes items of a feed in which nothing was found before.
type First struct {
	// Poll is set until an entry was found at the URL: at its first poll, and at the next ones while it lists none.
	Poll bool
	// Since is when the URL was read first; zero at the first poll of it.
	Since time.Time
	// Items is how many of the newest entries of the backlog become items.
	Items int
}

// dateSlack is how much older than it is an entry may look: a day where its date has no time, which is read as midnight,
// and 12 hours for the zones to the west of the one in which that is midnight. A wrong zone is at most 14 hours off.
const dateSlack = 36 * time.Hour

// Backlog reports whether an entry that is found was published before its feed was read first. All is backlog that the first
// poll finds. Where that has found nothing, because the feed was empty or because the operator could not read its entries
// then, the date decides. What has none counts as new, because of a feed that began empty nothing is to be lost.
func (f First) Backlog(entry feed.Entry) bool {
	switch {
	case !f.Poll:
		return false
	case f.Since.IsZero():
		return true
	}
	return !entry.Published.IsZero() && entry.Published.Before(f.Since.Add(-dateSlack))
}

// HoldAllBut leaves in the feed what was to be created, but for those entries of it that the API server has taken.
func (p *Plan) HoldAllBut(taken []feed.Entry) {
	p.Held += len(p.Create) - len(taken)
	p.Create = taken
}

// PlanFresh divides entries that were never seen, given in document order, into those that
// become items and those that do not. Room is how many items may be created now.
//
// The backlog is created before all else. So of a poll that was cut off, the items that it has made are of the backlog first,
// and First.Items less their number is what is left of it.
func PlanFresh(fresh []feed.Entry, first First, room int) Plan {
	var backlog, news []feed.Entry
	for _, entry := range fresh {
		if first.Backlog(entry) {
			backlog = append(backlog, entry)
		} else {
			news = append(news, entry)
		}
	}
	var plan Plan
	backlog = newestFirst(backlog)
	if len(backlog) > first.Items {
		backlog, plan.Remember = backlog[:first.Items], backlog[first.Items:]
	}
	ordered := slices.Concat(newestFirst(news), backlog)
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
