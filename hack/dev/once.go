// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// finish waits until all items are done, and reports what has come of them. It fails when they do not get there in time.
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
		if missing = state.unfinished(); len(missing) > 0 {
			continue
		}
		if w.standIn != nil {
			w.standIn.showNew(board.note)
		}
		w.chat.showNew(board.note)
		return state.outcome(os.Stdout)
	}
}
