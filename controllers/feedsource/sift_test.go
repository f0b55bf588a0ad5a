// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/filter"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// R1.8, R1.5: when the time for the filters is up, each poll still gets on, what was not judged waits
// for the next one, and a first poll makes no items of it then.
func TestWhatFiltersHaveNoTimeForIsHeld(t *testing.T) {
	t.Parallel()
	filters, err := filter.Compile([]v1alpha1.EntryFilter{{Name: "no-ads", Action: v1alpha1.FilterDrop, Expression: "title == 'Ad'"}})
	if err != nil {
		t.Fatal(err)
	}
	ad, first, second := feed.Entry{Title: "Ad"}, feed.Entry{Title: "First"}, feed.Entry{Title: "Second"}
	dropped := []filter.Dropped{{Entry: ad, Why: filters.Judge(t.Context(), ad).Why}}
	noTime, cancel := context.WithCancel(t.Context())
	cancel()

	for name, test := range map[string]struct {
		ctx              context.Context
		fresh            []feed.Entry
		want             filter.Sifted
		later, firstPoll polling.Plan
	}{
		"time for all": {
			ctx: t.Context(), fresh: []feed.Entry{first, ad, second},
			want:      filter.Sifted{Kept: []feed.Entry{first, second}, Dropped: dropped},
			later:     polling.Plan{Remember: []feed.Entry{ad}},
			firstPoll: polling.Plan{Remember: []feed.Entry{ad}},
		},
		"time for one that is dropped": {
			ctx: noTime, fresh: []feed.Entry{ad, first, second},
			want:      filter.Sifted{Dropped: dropped, Unjudged: []feed.Entry{first, second}},
			later:     polling.Plan{Remember: []feed.Entry{ad}, Held: 2},
			firstPoll: polling.Plan{Remember: []feed.Entry{ad, first, second}},
		},
		"time for one that is kept": {
			ctx: noTime, fresh: []feed.Entry{first, ad},
			want:      filter.Sifted{Kept: []feed.Entry{first}, Unjudged: []feed.Entry{ad}},
			later:     polling.Plan{Held: 1},
			firstPoll: polling.Plan{Remember: []feed.Entry{ad}},
		},
		"nothing new": {ctx: noTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := filters.Sift(test.ctx, test.fresh)
			if diff := cmp.Diff(test.want, found, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			var later, firstPoll polling.Plan
			settle(&later, found, polling.First{})
			settle(&firstPoll, found, polling.First{Poll: true})
			if diff := cmp.Diff([]polling.Plan{test.later, test.firstPoll}, []polling.Plan{later, firstPoll}, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if waiting := strings.Contains(found.Message(), "The filters take too long"); waiting != (len(test.want.Unjudged) > 0) {
				t.Errorf("it says %q", found.Message())
			}
		})
	}
}

// R1.5, R1.8: of a feed that listed nothing at first, what there was no time to judge waits if it was published since.
func TestWhatIsNewAndNotJudgedWaitsAtTheFirstFind(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.April, 1, 9, 0, 0, 0, time.UTC)
	old, since := feed.Entry{Title: "old", Published: now.AddDate(-1, 0, 0)}, feed.Entry{Title: "since", Published: now.Add(time.Hour)}
	var plan polling.Plan
	settle(&plan, filter.Sifted{Unjudged: []feed.Entry{since, old}}, polling.First{Poll: true, Since: now})
	if diff := cmp.Diff(polling.Plan{Remember: []feed.Entry{old}, Held: 1}, plan); diff != "" {
		t.Error(diff)
	}
}
