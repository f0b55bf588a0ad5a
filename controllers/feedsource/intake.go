// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// How many items a source has created today is written together with their identities, in the FeedMemory: so a
// crash forgets neither, and what it cut off is counted by the items that are there. Anybody who may edit the
// namespace can delete that memory, and the items; so a copy stands on the status, which nobody else may write, and
// this process knows it too. The largest of the three holds.

// itemsCreatedToday is how many items a source has created today. Begun is how many were made by a poll that was cut off, which
// are in no memory.
func itemsCreatedToday(source *v1alpha1.FeedSource, m *feedmemory.Memory, watch *sourceState, begun int, now time.Time) polling.Intake {
	remembered := intakeOf(m.Data.ItemsToday)
	if !m.Lost { // else all items are unknown to it
		remembered = remembered.Plus(begun, now)
	}
	told := intakeOf(source.Status.ItemsToday)
	today := remembered.AtLeast(told, now).AtLeast(watch.today, now)
	if today == told {
		watch.reportedToday = told
	}
	return today
}

// intakeOf reads a count. One of a day that cannot be read is of no day.
func intakeOf(written v1alpha1.ItemsToday) polling.Intake {
	began, err := time.Parse(time.DateOnly, written.Day)
	if err != nil {
		return polling.Intake{}
	}
	return polling.Intake{Day: began, Created: int(written.Created)}
}

func itemsToday(intake polling.Intake) v1alpha1.ItemsToday {
	return v1alpha1.ItemsToday{Day: intake.Day.Format(time.DateOnly), Created: int32(intake.Created)} //nolint:gosec // thousands
}

// roomFor is how many items a source may create now, and what keeps it from creating more.
func roomFor(source *v1alpha1.FeedSource, active int, today polling.Intake, now time.Time) (room int, limit string) {
	free, left := source.MaxActiveItems()-active, today.Room(source.MaxItemsPerDay(), now)
	if left <= free {
		return left, v1alpha1.ReasonDailyItemsLimit
	}
	return free, v1alpha1.ReasonActiveItemsLimit
}

// mayCreate reports whether entries that wait in the feed can become items now.
func (r *Reconciler) mayCreate(source *v1alpha1.FeedSource, watch *sourceState) bool {
	room, _ := roomFor(source, r.tally.Active(source), watch.today, r.Clock.Now())
	return room > 0
}

// todayUnreported reports whether the status does not have yet how many items were created today.
func (w *sourceState) todayUnreported() bool {
	return w.today.Created > 0 && w.today != w.reportedToday
}

// setPaused reports whether entries wait in the feed because the source has too many open items, or has created
// as many today as it may.
func setPaused(source *v1alpha1.FeedSource, found *pollResult, now time.Time) {
	message := ""
	switch {
	case found.held == 0:
	case found.limit == v1alpha1.ReasonDailyItemsLimit:
		message = fmt.Sprintf("The source has created %d items today, and spec.maxItemsPerDay allows %d; %d entries wait in the feed until "+
			"midnight UTC (%s) and become items then, the oldest first. What the feed does not list any more by then is lost: "+
			"raise spec.maxItemsPerDay if that many come every day, or drop with spec.filters what nobody needs",
			found.today.Created, source.MaxItemsPerDay(), found.held, found.today.Ends().Format(time.RFC3339))
	default:
		message = fmt.Sprintf("The source has %d unfinished items, as many as spec.maxActiveItems allows; "+
			"%d entries wait in the feed until some are finished", source.MaxActiveItems(), found.held)
	}
	note(source, v1alpha1.ConditionCreationPaused, found.limit, message, now)
}

// pausedForToday reports whether entries wait for the next day by the status.
func pausedForToday(source *v1alpha1.FeedSource) (message string, yes bool) {
	paused := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused)
	if paused == nil || paused.Reason != v1alpha1.ReasonDailyItemsLimit {
		return "", false
	}
	return paused.Message, true
}
