// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
)

// R1.8, R1.6: of filters that take much memory nothing is kept between polls, and they decide as others do.
func TestOnlyLightFiltersAreKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expression string
		kept       bool
	}{
		"a word":                      {`title.contains('Ad')`, true},
		"a pattern of many":           {`title.matches('Ad.{900}') || title == 'Ad'`, false},
		"a long list":                 {`title in ['Ad'` + strings.Repeat(`, 'x'`, 100) + `]`, false},
		"one that cannot work":        {`titel == 'Ad'`, false},
		"patterns too long together":  {`title.matches('a{900}') || title.matches('b{900}') || title.matches('c{900}')`, false},
		"a pattern of a usual length": {`title.matches('^(Ad|Sponsored|Promotion)\\b')`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			source.Spec.Filters = []v1alpha1.EntryFilter{{Name: "no-ads", Action: v1alpha1.FilterDrop, Expression: test.expression}}
			state := &sourceState{}
			invalid := state.checkFilters(source)
			if kept := state.filters.set != nil; kept != test.kept {
				t.Errorf("kept is %t", kept)
			}
			for range 2 {
				found, err := state.filterNew(t.Context(), source, &feedmemory.Memory{}, []feed.Entry{{Title: "Ad"}, {Title: "News"}})
				if (err == nil) != (invalid == nil) {
					t.Fatalf("it says %v, and said %v", err, invalid)
				}
				if err == nil && (len(found.Dropped) != 1 || len(found.Kept) != 1) {
					t.Errorf("of an advertisement and news it keeps %v", found.Kept)
				}
			}
		})
	}
}
