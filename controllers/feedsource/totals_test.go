// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// process is an operator that counts on a status that others write too.
type process struct {
	counters *counters
	there    v1alpha1.ItemCounts
	// pending is how much of what it knows nobody was told of.
	pending int64
}

// R5.2, R1.8: whatever answers of the API server are lost, and however many operators count one after the other, or think that it is still their turn,
// nothing is counted twice. Where there is one operator, nothing is missing either.
func TestWhatASourceHasComeToIsCountedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var status v1alpha1.FeedSourceStatus
		var there v1alpha1.ItemCounts
		var succeeded, failed, dropped, missing int64
		started := func() *process {
			p := &process{counters: &counters{}, there: there}
			p.counters.begin(&status)
			return p
		}
		processes := []*process{started(), nil}
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			turn := rapid.IntRange(0, 1).Draw(t, "process")
			p := processes[turn]
			if p == nil {
				continue
			}
			switch rapid.SampledFrom([]string{"ends", "fails", "is retried", "is removed", "is dropped", "write", "lost", "refused", "hand over", "crash"}).Draw(t, "event") {
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
				if there.Processed > 0 { // whoever is there hears of it
					there.Processed--
					for _, hears := range processes {
						if hears != nil {
							hears.counters.removed(v1alpha1.PhaseProcessed)
							hears.pending++
						}
					}
				}
			case "is dropped":
				p.counters.dropped(1)
				p.pending++
				dropped++
			case "write", "lost":
				if p.counters.others(&status) {
					missing += p.pending
				}
				p.counters.write(&status, there)
				p.pending = 0
			case "refused": // on the live object it is worked out again
				refused := status
				if !p.counters.others(&refused) {
					p.counters.write(&refused, there)
				}
			case "hand over":
				if processes[1-turn] == nil {
					processes[1-turn] = started()
					missing += p.pending
				}
			case "crash":
				missing += p.pending
				processes[turn], processes[1-turn] = started(), nil
			}
		}
		for _, p := range processes {
			if p != nil {
				missing += p.pending
				p.counters.write(&status, there)
			}
		}
		got := status.Totals
		switch lacks := succeeded + failed + dropped - got.Processed - status.FilteredEntries; {
		case got.Processed != got.Succeeded+got.Failed, got.Failed != failed:
			t.Fatalf("%+v, and %d have failed", got, failed)
		case got.Succeeded > succeeded || status.FilteredEntries > dropped:
			t.Fatalf("counted twice: %+v of %d, and %d of %d", got, succeeded, status.FilteredEntries, dropped)
		case missing == 0 && lacks != 0:
			t.Fatalf("%d are missing: %+v of %d, and %d of %d", lacks, got, succeeded, status.FilteredEntries, dropped)
		}
	})
}
