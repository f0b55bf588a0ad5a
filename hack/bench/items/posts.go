// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"fmt"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// queues counts when all feeds list new entries at once and the destination takes as few posts at a
// time, as by default: an item that has to wait for its turn costs one write more.
func (m *writeCount) queues(ctx context.Context) ([]figure.Row, error) {
	rig.Progress("Counting writes: later polls, while posts have to wait for each other …")
	if err := m.plane.LimitPosts(ctx, m.namespace, v1alpha1.DefaultDestinationConcurrency); err != nil {
		return nil, err
	}
	if err := m.look(ctx); err != nil {
		return nil, err
	}
	m.listMore()
	rows, err := m.items(ctx, fmt.Sprintf("later poll, %d posts at once", v1alpha1.DefaultDestinationConcurrency))
	if err != nil {
		return nil, err
	}
	rows[0] = rows[0].WithoutBar() // it is for items that do not wait
	return rows, nil
}

// calls looks at what the services have seen of all items so far.
func (m *writeCount) calls(context.Context) ([]figure.Row, error) {
	all := entriesOfAll(m.sources, m.listed)
	asked := m.services.Calls()
	perItem := float64(asked) / float64(len(all))
	wrong := rig.NotPostedOnce(m.services.Posts(), all)
	return []figure.Row{
		figure.AtMost("calls of the provider per item, screened and summarized by one",
			fmt.Sprintf("%.2f (%d calls, %d items)", perItem, asked, len(all)), perItem, 1, ""),
		postedOnce(wrong, len(all)),
	}, nil
}

// postedOnce reports for how many entries it is not true that they were posted exactly once.
func postedOnce(wrong, entries int) figure.Row {
	return figure.AtMost("items that were not posted exactly once", fmt.Sprintf("%d (of %d)", wrong, entries), float64(wrong), 0, "")
}
