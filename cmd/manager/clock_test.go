// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// wrongBy is how far clocks are ahead of others.
var wrongBy = []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}

// R3.14, R4.4: the operator lives in the API server's time, whatever the clock of its machine shows. It posts to a server that goes by another
// clock, and what is noted of that is the API server's time.
func TestTheManagerLivesInTheAPIServersTime(t *testing.T) {
	t.Parallel()
	for _, ahead := range portion.SomeOf(wrongBy, 1) {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			room := newNewsroom(t, counterparts[ignoresKeys])
			room.proxy.ahead.Store(int64(ahead))
			manager := room.observed(t)
			room.open(t)
			room.untilEnding(t, posted)
			room.check(t, posted)
			item := room.item(t, 1)
			row := lifecycle.RowOf(item, "press")
			now := time.Now().Add(ahead)
			for name, at := range map[string]time.Time{
				"first attempt": row.FirstAttemptTime.Time, "end of the call": row.NotAfter.Time, "post": row.Time.Time, "last check": item.Status.LastCheckTime.Time,
			} {
				if off := at.Sub(now).Abs(); off > 30*time.Second+patience {
					t.Errorf("%s is noted %s off the API server's time", name, off)
				}
			}
			source := await(t, &v1alpha1.FeedSourceList{}, room.namespace, "polled", func(source *v1alpha1.FeedSource) bool {
				return source.Status.LastPollTime != nil
			})
			if off := source.Status.LastPollTime.Sub(now).Abs(); off > patience {
				t.Errorf("the poll is noted %s off the API server's time", off)
			}
			manager.end(t, syscall.SIGTERM)
		})
	}
}

// R4.4: an answer is lost, and the manager restarted, at a server whose clock is another one than the API server's: the post is found.
func TestAPostIsFoundByTheServersClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range portion.SomeOf(wrongBy, 1) {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			room := newNewsroom(t, counterparts[ignoresKeys])
			room.proxy.ahead.Store(int64(ahead))
			first := room.observed(t)
			killInTheCall(t, room, first)
			second := room.observed(t)
			room.untilEnding(t, posted)
			room.check(t, posted)
			second.end(t, syscall.SIGTERM)
		})
	}
}
