// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package totals

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R5.2, R1.8: whatever answers of the API server are lost, and however many operators count one after the other, or think that it is still their turn,
// nothing is counted twice, and what was told once of what is gone stays told. Where there is one operator, nothing is missing.
func TestWhatASourceHasComeToIsCountedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var status v1alpha1.FeedSourceStatus
		var there v1alpha1.ItemCounts
		var succeeded, failed, dropped int64
		started := func() *Counters {
			c := &Counters{}
			c.Learn(&status)
			return c
		}
		operators, alone := []*Counters{started()}, true
		told, toldDropped := endedItems{}, int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			at := rapid.IntRange(0, len(operators)-1).Draw(t, "operator")
			switch rapid.SampledFrom([]string{"ends", "fails", "is retried", "is removed", "is dropped", "write", "write late", "refused", "hand over", "crash"}).Draw(t, "event") {
			case "ends":
				there.Processed++
				succeeded++
			case "fails":
				there.Failed++
				failed++
			case "is retried":
				if there.Failed > 0 {
					there.Failed, there.Deferred = there.Failed-1, there.Deferred+1
					failed--
				}
			case "is removed":
				phase, count := v1alpha1.PhaseProcessed, &there.Processed
				if rapid.Bool().Draw(t, "had failed") {
					phase, count = v1alpha1.PhaseFailed, &there.Failed
				}
				if *count > 0 {
					*count--
					for _, hears := range operators {
						hears.Removed(phase)
					}
				}
			case "is dropped": // whoever polls finds them
				for _, polls := range operators {
					polls.Dropped(1)
				}
				dropped++
			case "write": // the same again where the answer is lost
				for range rapid.IntRange(1, 2).Draw(t, "times") {
					operators[at].Write(&status, there)
				}
				now := endedItems{max(goneBy(&status).succeeded, told.succeeded), max(goneBy(&status).failed, told.failed)}
				if goneBy(&status) != now || status.FilteredEntries < toldDropped {
					t.Fatalf("gone: %+v, after %+v; dropped: %d, after %d", goneBy(&status), told, status.FilteredEntries, toldDropped)
				}
				told, toldDropped = now, status.FilteredEntries
			case "write late": // when another one may have counted
				operators[at].Write(&status, status.Items)
				if now := goneBy(&status); now.succeeded < told.succeeded || now.failed < told.failed || status.FilteredEntries < toldDropped {
					t.Fatalf("gone: %+v, after %+v; dropped: %d, after %d", now, told, status.FilteredEntries, toldDropped)
				}
				told, toldDropped = goneBy(&status), status.FilteredEntries
			case "refused":
				refused := status
				operators[at].Write(&refused, there)
			case "hand over":
				operators, alone = append(operators, started()), false
			case "crash":
				operators[at], alone = started(), false
			}
		}
		for _, last := range operators {
			last.Write(&status, there)
		}
		switch got := status.Totals; {
		case got.Processed != got.Succeeded+got.Failed:
			t.Fatalf("%+v does not add up", got)
		case got.Succeeded > succeeded, got.Failed > failed, status.FilteredEntries > dropped:
			t.Fatalf("counted twice: %+v of %d and %d, and %d of %d dropped", got, succeeded, failed, status.FilteredEntries, dropped)
		case alone && (got.Succeeded < succeeded || got.Failed < failed || status.FilteredEntries < dropped):
			t.Fatalf("missing: %+v of %d and %d, and %d of %d dropped", got, succeeded, failed, status.FilteredEntries, dropped)
		}
	})
}
