// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R1.6: an entry with a date in the future was published when it was first seen; one without a date
// is marked as such by having none.
func TestAnEntryIsNeverNewerThanThePollThatFoundIt(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	before := w.clock.Now().Truncate(time.Second)
	entries := web.Entries("dated", 2)
	entries[0].Published, entries[1].Published = before.AddDate(1, 0, 0), time.Time{}
	web.List(entries...)
	w.source("news", web.FeedURL())
	for _, item := range w.untilItems("news", hasItems(2)) {
		published := item.Spec.PublishedTime
		switch item.Spec.Title {
		case entries[0].Title:
			if published == nil || published.Time.Before(before) || published.After(w.clock.Now()) {
				t.Errorf("published %v, want the time of the poll, %v", published, before)
			}
		default:
			if published != nil {
				t.Errorf("published %v, want none", published)
			}
		}
	}
}
