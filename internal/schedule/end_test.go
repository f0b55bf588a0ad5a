// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"
)

// R6.3: a schedule that has ended, because another replica has its shard, wakes nobody, however long the process goes on; nor is a timer left of it.
func TestAScheduleThatHasEndedWakesNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{PerMinute: 10})
		b.gets(b.Enter("first"), published(0), gemini).Done()
		b.parks("waiting", published(3), gemini)
		b.End()
		time.Sleep(time.Hour)
		b.wantWoken()
		b.Schedule.mu.Lock()
		defer b.Schedule.mu.Unlock()
		for id, r := range b.resources {
			if r.timer != nil {
				t.Errorf("%v has a timer", id)
			}
		}
	})
}
