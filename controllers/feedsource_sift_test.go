// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"
	"testing"

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
	noTime, cancel := context.WithCancel(t.Context())
	cancel()

	for name, test := range map[string]struct {
		ctx              context.Context
		fresh            []feed.Entry
		want             sifted
		later, firstPoll polling.Plan
	}{
		"time for all": {
			ctx: t.Context(), fresh: []feed.Entry{first, ad, second},
			want:      sifted{kept: []feed.Entry{first, second}, dropped: []feed.Entry{ad}},
			later:     polling.Plan{Remember: []feed.Entry{ad}},
			firstPoll: polling.Plan{Remember: []feed.Entry{ad}},
		},
		"time for one that is dropped": {
			ctx: noTime, fresh: []feed.Entry{ad, first, second},
			want:      sifted{dropped: []feed.Entry{ad}, unjudged: []feed.Entry{first, second}},
			later:     polling.Plan{Remember: []feed.Entry{ad}, Held: 2},
			firstPoll: polling.Plan{Remember: []feed.Entry{ad, first, second}},
		},
		"time for one that is kept": {
			ctx: noTime, fresh: []feed.Entry{first, ad},
			want:      sifted{kept: []feed.Entry{first}, unjudged: []feed.Entry{ad}},
			later:     polling.Plan{Held: 1},
			firstPoll: polling.Plan{Remember: []feed.Entry{ad}},
		},
		"nothing new": {ctx: noTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := sift(test.ctx, filters, test.fresh)
			if diff := cmp.Diff(test.want, found, cmp.AllowUnexported(sifted{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			var later, firstPoll polling.Plan
			found.settle(&later, false)
			found.settle(&firstPoll, true)
			if diff := cmp.Diff([]polling.Plan{test.later, test.firstPoll}, []polling.Plan{later, firstPoll}, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if waiting := strings.Contains(found.message(), "The filters take too long"); waiting != (len(test.want.unjudged) > 0) {
				t.Errorf("it says %q", found.message())
			}
		})
	}
}
