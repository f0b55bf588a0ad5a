// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crowds

import (
	"context"
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// Polling measures what it costs the operator to poll thousands of feeds: its processor time,
// its memory and its writes. The rate itself is set by the sources' interval.
func Polling(ctx context.Context, p *rig.Plane, s rig.Scale) (rows []figure.Row, _ error) {
	crowd, err := newCrowd(ctx, p, s.Sources)
	if err != nil {
		return nil, err
	}
	defer crowd.close(ctx)
	m := &pollCost{crowd: crowd, window: pollInterval}
	if s.Short {
		m.window = pollInterval / 3
	}
	for _, measure := range []func(context.Context) ([]figure.Row, error){m.firstPolls, m.unchanged, m.oneNew} {
		more, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// pollCost measures a crowd.
type pollCost struct {
	*crowd
	// window is how long unchanged feeds are watched, for each way to answer.
	window time.Duration
}

// firstPolls starts the operator with sources that were never polled: all are due at once.
func (m *pollCost) firstPolls(ctx context.Context) ([]figure.Row, error) {
	rig.Progress("First polls of %d sources …", m.size)
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	spent, err := m.measure(ctx, m.untilPolled)
	if err != nil {
		return nil, err
	}
	sources := float64(m.size)
	return append([]figure.Row{
		figure.Note(fmt.Sprintf("first polls of %d new sources, all due at once", m.size),
			"%.0f a second, until all are written down; %.2f ms of a core for each source (%d entries read)",
			sources/spent.took.Seconds(), 1000*spent.cpu.Seconds()/sources, news.FeedLength),
	}, figure.Notes(spent.writes)...), nil
}

// unchanged watches while no feed has anything new, for each way in which servers say so.
func (m *pollCost) unchanged(ctx context.Context) (rows []figure.Row, _ error) {
	endProfile, err := m.manager.Profile(ctx, "polling-unchanged", m.window)
	if err != nil {
		return nil, err
	}
	var usual []float64 // resident memory of each round, in bytes
	for _, round := range []struct {
		name string
		how  rig.Answers
	}{
		{"304", rig.NotModified},
		{"304, again", rig.NotModified},
		{"200 with the same ETag", rig.SameETag},
		{"200 with the same body", rig.SameBody},
		{"304, at last", rig.NotModified},
	} {
		rig.Progress("Unchanged feeds, answers: %s …", round.name)
		m.hosts.Answer(round.how)
		var resident float64
		spent, err := m.measure(ctx, func(ctx context.Context) (err error) {
			resident, err = m.averageMemory(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		usual = append(usual, resident)
		writes := spent.writes.Total()
		rows = append(rows,
			figure.AtLeast(fmt.Sprintf("polls of unchanged feeds per second of a core (%s)", round.name),
				fmt.Sprintf("%.0f", spent.perSecond()), spent.perSecond(), 1000),
			figure.AtMost("  API writes", fmt.Sprintf("%d (%d polls)", writes, spent.polls), float64(writes), 0, ""),
			figure.Note("resident memory of the operator", "%.0f MB on average, %.0f MB in the end, at most %.0f MB since its start",
				figure.Megabytes(int64(resident)), figure.Megabytes(spent.memory.Resident), figure.Megabytes(spent.memory.Peak)))
		rows = append(rows, figure.Notes(spent.writes)...)
	}
	endProfile()
	growth := (usual[len(usual)-1]/usual[0] - 1) * 100
	return append(rows, figure.AtMost("growth of the resident memory over these rounds", fmt.Sprintf("%.0f %%", growth), growth, 10, " %")), nil
}

// averageMemory watches for the window how much memory is resident, in bytes. At one moment it may be a fifth more or less than at another one, by how
// long ago the heap was collected; a leak shows in all of them.
func (m *pollCost) averageMemory(ctx context.Context) (float64, error) {
	const often = 500 * time.Millisecond
	looks := int(m.window / often)
	var sum float64
	for range looks {
		if err := rig.Pause(ctx, often); err != nil {
			return 0, err
		}
		memory, err := m.manager.Memory()
		if err != nil {
			return 0, err
		}
		sum += float64(memory.Resident)
	}
	return sum / float64(looks), nil
}

// oneNew watches while each feed has one new entry, until all sources say that it is processed.
func (m *pollCost) oneNew(ctx context.Context) ([]figure.Row, error) {
	rig.Progress("One new entry in each feed …")
	spent, err := m.measure(ctx, func(ctx context.Context) error {
		m.hosts.Publish(news.Entries("crowd", news.FeedLength+1))
		return m.untilEach(ctx, "done with the new entry", func(source *v1alpha1.FeedSource) bool { return source.Status.Items.Processed == 1 })
	})
	if err != nil {
		return nil, err
	}
	sources := float64(m.size)
	ofPolls := float64(spent.writes["post feeditems"]+spent.writes["put feedmemories"]) / sources
	return append([]figure.Row{
		figure.AtMost("API writes of a poll that finds one new entry (item and memory)", fmt.Sprintf("%.2f", ofPolls), ofPolls, 2, ""),
		figure.Note("API writes for the entry, until it is summarized and counted", "%.2f", float64(spent.writes.Total())/sources),
		figure.Note("processor time for it, with the polls made meanwhile", "%.1f ms (%d polls, in %s)",
			1000*spent.cpu.Seconds()/sources, spent.polls, spent.took.Round(time.Second)),
		figure.Note("resident memory of the operator", "%.0f MB, at most %.0f MB since its start",
			figure.Megabytes(spent.memory.Resident), figure.Megabytes(spent.memory.Peak)),
	}, figure.Notes(spent.writes)...), nil
}
