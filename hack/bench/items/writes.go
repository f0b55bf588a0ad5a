// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package items measures what becomes of the entries of feeds: what the items cost the API server and the operator,
// how many are made in a second and posted once, what so many of them take to be held, and what a text takes to be
// summarized.
//
// It looks at the operator from outside, by what the API server and the services see of it; only what summarizes a text
// is called by itself. It starts and counts through package rig, and knows nothing of other measurements.
package items

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// newEntries is how many new entries a poll finds: the fewest with which the bar must hold, since
// what a poll itself writes is shared out among them.
const newEntries = 10

// Writes counts what items and polls cost the API server. It counts there, so nothing that
// the operator writes can be forgotten.
func Writes(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	sources := s.Of(40, 4)
	rows, err := countWrites(ctx, &writeCount{plane: p, sources: sources},
		(*writeCount).firstPolls, (*writeCount).laterPolls, (*writeCount).unchanged, (*writeCount).heartbeats)
	if err != nil {
		return nil, err
	}
	services, err := rig.StartServices(ctx, 3*sources*newEntries)
	if err != nil {
		return nil, err
	}
	defer services.Close()
	posted, err := countWrites(ctx, &writeCount{plane: p, sources: sources, services: services},
		(*writeCount).firstPolls, (*writeCount).laterPolls, (*writeCount).queues, (*writeCount).calls)
	return append(rows, posted...), err
}

// countWrites starts an operator, and takes measurements of it one after the other.
func countWrites(ctx context.Context, m *writeCount, measures ...func(*writeCount, context.Context) ([]figure.Row, error)) (_ []figure.Row, failed error) {
	var err error
	if m.feeds, err = rig.ServeFeeds(ctx); err != nil {
		return nil, err
	}
	defer m.feeds.Close()
	if m.namespace, err = m.plane.Namespace(ctx); err != nil {
		return nil, err
	}
	operator, err := rig.StartOperator(ctx, m.plane, m.namespace, &m.clock, rig.Instant{})
	if err != nil {
		return nil, err
	}
	defer func() { failed = errors.Join(failed, operator.Stop()) }()
	if m.services != nil {
		if err := m.plane.CreateServices(ctx, m.services, m.namespace, rig.ManySlots); err != nil {
			return nil, err
		}
		if err := m.plane.UntilReady(ctx, m.namespace); err != nil {
			return nil, err
		}
	}
	if err := m.look(ctx); err != nil {
		return nil, err
	}
	var rows []figure.Row
	for _, measure := range measures {
		more, err := measure(m, ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// createSources creates sources, each with a feed of its own that lists so many entries.
func createSources(ctx context.Context, p *rig.Plane, feeds *rig.Feeds, namespace string, count, entries int, change ...func(*v1alpha1.FeedSource)) error {
	for i := range count {
		name := sourceName(i)
		if err := p.Client.Create(ctx, news.Source(namespace, name, feeds.Publish(name, news.Entries(name, entries)), change...)); err != nil {
			return fmt.Errorf("create a FeedSource: %w", err)
		}
	}
	return nil
}

func sourceName(number int) string { return fmt.Sprintf("source-%03d", number) }

// entriesOfAll returns the entries of so many sources.
func entriesOfAll(sources, each int) []feed.Entry {
	all := make([]feed.Entry, 0, sources*each)
	for i := range sources {
		all = append(all, news.Entries(sourceName(i), each)...)
	}
	return all
}

// writeCount is an operator at work, and what the API server had counted at the last look.
type writeCount struct {
	plane   *rig.Plane
	sources int
	// services that screen, summarize and post what the sources list, or nil for the built-in
	// summarizer alone.
	services *rig.Services

	feeds     *rig.Feeds
	namespace string
	clock     rig.AheadClock
	// listed is how many entries each feed lists.
	listed int

	counts
}

// counts are what was counted up to a look.
type counts struct {
	writes     rig.APIWrites
	reconciled map[string]float64
	polled     int
}

func (m *writeCount) look(ctx context.Context) (err error) {
	if m.writes, err = m.plane.APIWrites(ctx); err != nil {
		return err
	}
	m.polled = m.feeds.Total()
	m.reconciled, err = rig.Reconciles()
	return err
}

// firstPolls counts what it costs to poll new sources.
func (m *writeCount) firstPolls(ctx context.Context) ([]figure.Row, error) {
	rig.Progress("Counting writes: first polls of %d sources, %d entries each …", m.sources, newEntries)
	m.listed = newEntries
	var change []func(*v1alpha1.FeedSource)
	if m.services != nil {
		change = append(change, news.Screened, news.Posting)
	}
	m.writes["post feedsources"] += m.sources // these are ours, and no others are made
	if err := createSources(ctx, m.plane, m.feeds, m.namespace, m.sources, m.listed, change...); err != nil {
		return nil, err
	}
	return m.items(ctx, "first poll")
}

// laterPolls counts when feeds that are known list new entries.
func (m *writeCount) laterPolls(ctx context.Context) ([]figure.Row, error) {
	rig.Progress("Counting writes: later polls, %d new entries each …", newEntries)
	m.listMore()
	return m.items(ctx, "later poll")
}

func (m *writeCount) listMore() {
	m.listed += newEntries
	for i := range m.sources {
		m.feeds.Publish(sourceName(i), news.Entries(sourceName(i), m.listed))
	}
}

// items counts until every source says that all its items are processed, which is up to a minute
// after they are, and until the services' objects say of every call that it was made.
func (m *writeCount) items(ctx context.Context, poll string) ([]figure.Row, error) {
	before, items := m.counts, m.sources*newEntries
	if err := untilCounted(ctx, m.plane, m.namespace, m.sources, m.listed); err != nil {
		return nil, err
	}
	destinations := "no destination"
	if m.services != nil {
		destinations = "1 destination"
		if err := m.plane.UntilTallied(ctx, m.services, m.namespace); err != nil {
			return nil, err
		}
	}
	if err := m.look(ctx); err != nil {
		return nil, err
	}
	wrote := m.writes.Since(before.writes)
	perItem := float64(wrote.Total()) / float64(items)
	rows := append([]figure.Row{figure.AtMost(
		fmt.Sprintf("API writes per item, %s (%d sources, %s, %d new entries each)", destinations, m.sources, poll, newEntries),
		fmt.Sprintf("%.3f", perItem), perItem, 3.3, "")}, figure.Notes(wrote)...)
	for _, controller := range []string{"feeditem", "feedsource"} {
		count := m.reconciled[controller] - before.reconciled[controller]
		rows = append(rows, figure.Note("reconciles of the "+controller+" controller", "%.0f (%.2f per item)", count, count/float64(items)))
	}
	return rows, nil
}

// unchanged counts while every feed is polled and has nothing new.
func (m *writeCount) unchanged(ctx context.Context) ([]figure.Row, error) {
	rig.Progress("Counting writes: a poll of each unchanged feed …")
	before := m.counts
	if err := m.untilPolled(ctx); err != nil {
		return nil, err
	}
	if err := m.look(ctx); err != nil {
		return nil, err
	}
	wrote, polled := m.writes.Since(before.writes), m.polled-before.polled
	perPoll := float64(wrote.Total()) / float64(polled)
	return append([]figure.Row{figure.AtMost("API writes per poll of an unchanged feed",
		fmt.Sprintf("%.2f (%d writes, %d polls)", perPoll, wrote.Total(), polled), perPoll, 0, "")}, figure.Notes(wrote)...), nil
}

// heartbeats counts what the first polls after an hour cost: its heartbeat is due then.
func (m *writeCount) heartbeats(ctx context.Context) ([]figure.Row, error) {
	rig.Progress("Counting writes: a poll of each unchanged feed, an hour later by the operator's clock …")
	before := m.counts
	m.clock.PutForward(time.Hour)
	if err := m.untilPolled(ctx); err != nil {
		return nil, err
	}
	if err := m.look(ctx); err != nil {
		return nil, err
	}
	wrote := m.writes.Since(before.writes)
	perSource := float64(wrote.Total()) / float64(m.sources)
	return append([]figure.Row{figure.AtMost("API writes per source and hour of an unchanged feed (heartbeat)",
		fmt.Sprintf("%.2f (%d writes, %d polls)", perSource, wrote.Total(), m.polled-before.polled), perSource, 1, "")}, figure.Notes(wrote)...), nil
}

// untilPolled waits until every feed was asked for once more.
func (m *writeCount) untilPolled(ctx context.Context) error {
	start := m.feeds.Counts()
	return rig.Until(ctx, func(context.Context) (bool, error) {
		for name, now := range m.feeds.Counts() {
			if now == start[name] {
				return false, nil
			}
		}
		return true, nil
	})
}

// untilCounted waits until every source of a namespace says that so many of its items are
// processed. It looks seldom: hundreds of them, read five times a second, keep the API server busy, and the operator waiting.
func untilCounted(ctx context.Context, p *rig.Plane, namespace string, sources, items int) error {
	var list v1alpha1.FeedSourceList
	err := rig.UntilSeldom(ctx, func(ctx context.Context) (bool, error) {
		if err := p.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		done := 0
		for i := range list.Items {
			if int(list.Items[i].Status.Items.Processed) == items {
				done++
			}
		}
		return done == sources, nil
	})
	if err != nil && len(list.Items) > 0 {
		return fmt.Errorf("%w; the first source has %+v", err, list.Items[0].Status)
	}
	return err
}
