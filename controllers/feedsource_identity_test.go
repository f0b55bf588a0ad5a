// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

func fromTheFeed(source *v1alpha1.FeedSource) {
	source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourceFeed}
}

// R1.2: a feed lists one story twice, once, and edits its texts from then on, as it did before. No edit is a new item.
func TestADoubleListingCostsNothingLater(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	created := w.creations()
	entries := fiveEntries(web)
	doubled := entries[2]
	doubled.Content += " And more of it."
	web.List(append(slices.Clone(entries), doubled)...)
	w.source("news", web.FeedURL(), fromTheFeed)
	source := w.poll("news")
	for round := range 4 {
		for i := range entries {
			entries[i].Title = strings.TrimSuffix(entries[i].Title, fmt.Sprintf(" (%d)", round)) + fmt.Sprintf(" (%d)", round+1)
			entries[i].Content += " Edited."
		}
		web.List(entries...)
		source = w.poll("news")
	}
	if got := created(); len(got) != 5 {
		t.Errorf("%d items were created of 5 stories: %v", len(got), got)
	}
	if condition := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionIdentityShared); condition != nil {
		t.Errorf("the source says %q of a feed that identifies its entries well", condition.Message)
	}
}

// R1.2: a feed that lists one entry at a time, each with a GUID of its own and all at one link. That the second one is not the
// first one, edited, nobody can tell; from the third one on all become items, and the source says why.
func TestEntriesAtOneLinkOneAtATime(t *testing.T) {
	t.Parallel()
	const stories = 6
	web := feedtest.New(t)
	w := newWorld(t)
	created := w.creations()
	var source *v1alpha1.FeedSource
	for i := range stories {
		web.List(feedtest.Entry{GUID: fmt.Sprintf("tag:%d", i), Link: "http://127.0.0.1:1/live", Title: fmt.Sprintf("Story %d", i), Content: fmt.Sprintf("Text %d.", i)})
		if i == 0 {
			w.source("news", web.FeedURL(), fromTheFeed)
			w.untilItems("news", hasItems(1))
		}
		source = w.poll("news")
	}
	if got := created(); len(got) != stories-1 || slices.Contains(got, "Story 1") {
		t.Errorf("items of %v, want all of %d stories but the second", got, stories)
	}
	condition := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionIdentityShared)
	if condition == nil || condition.Reason != v1alpha1.ReasonURLsShared || !strings.Contains(condition.Message, "link") {
		t.Fatalf("the source does not say that its links identify nothing: %+v", source.Status.Conditions)
	}
}
