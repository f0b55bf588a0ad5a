// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/polling"
)

// R1.3: polls that are due at nearly the same time begin together; none begins early, or noticeably late.
func TestPollsBeginTogether(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Duration{
		0:                        0,
		1:                        250 * time.Millisecond,
		249 * time.Millisecond:   250 * time.Millisecond,
		250 * time.Millisecond:   250 * time.Millisecond,
		250*time.Millisecond + 1: 500 * time.Millisecond,
		time.Second - 1:          time.Second,
	} {
		if got := polling.Together(noon.Add(after)); !got.Equal(noon.Add(want)) {
			t.Errorf("due %s after noon: begins at %s", after, got)
		}
	}
	if never := polling.Together(time.Time{}); !never.IsZero() {
		t.Errorf("never becomes %s", never)
	}
}
