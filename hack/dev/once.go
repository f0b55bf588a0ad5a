// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// finish waits until all items are done, stops the operator, and shows what has come of it. It fails when they do not get there in time.
func (w *world) finish(ctx context.Context, board *board, sources []client.ObjectKey) error {
	limited, cancel := context.WithTimeout(ctx, w.options.run.limit)
	defer cancel()
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()

	missing := []string{"nothing has been looked at yet"}
	for {
		select {
		case err := <-w.cluster.Died():
			return err
		case <-w.manager.Done():
			return w.manager.Err()
		case <-limited.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("stopped before everything was done:\n  %s", strings.Join(missing, "\n  "))
			}
			return fmt.Errorf("not everything is done after %s:\n  %s\nThe end of the operator's log:\n%s",
				w.options.run.limit, strings.Join(missing, "\n  "), w.manager.Tail(20))
		case <-look.C:
		}
		state, err := w.survey(limited, sources)
		if err != nil {
			missing = []string{err.Error()}
			continue
		}
		if missing = state.missing(); len(missing) > 0 {
			continue
		}
		if w.standIn != nil {
			w.standIn.showNew(board.note)
		}
		// What it has counted is written down when it stops, if not before.
		w.manager.Stop(ctx, managerGrace)
		if err := w.surveyProviders(limited, state); err != nil {
			return err
		}
		report(os.Stdout, state)
		return state.verdict()
	}
}

// report shows what has become of all items, with the summaries that were not posted.
func report(out io.Writer, state *survey) {
	items := state.items
	slices.SortFunc(items, func(a, b v1alpha1.FeedItem) int {
		if order := strings.Compare(a.Spec.SourceRef.Name, b.Spec.SourceRef.Name); order != 0 {
			return order
		}
		published := a.Published()
		return published.Compare(b.Published().Time)
	})
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nSOURCE\tPHASE\tREASON\tPROVIDER\tPOSTED\tTITLE")
	posted := 0
	for i := range items {
		item := &items[i]
		when := ""
		if row := postOf(item); row != nil {
			posted++
			when = row.Time.Local().Format(time.TimeOnly)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n",
			item.Spec.SourceRef.Name, item.Status.Phase, item.Status.Reason, writer(item), when, item.Spec.Title)
	}
	_ = table.Flush()
	for i := range items {
		if summary := items[i].Status.Summary; summary != nil && postOf(&items[i]) == nil {
			_, _ = fmt.Fprintf(out, "\n%s\n%s\n", items[i].Spec.Title, summary.Text)
		}
	}
	reportProviders(out, state)
	verb, once := "were", ", each exactly once"
	if posted == 1 {
		verb, once = "was", ", exactly once"
	}
	if !state.local || posted == 0 || len(state.wrongPosts()) > 0 {
		once = ""
	}
	_, _ = fmt.Fprintf(out, "\nAll %d items are finished. %d %s posted%s.\n", len(items), posted, verb, once)
}

func writer(item *v1alpha1.FeedItem) string {
	if item.Status.Summary == nil {
		return ""
	}
	return item.Status.Summary.Provider
}
