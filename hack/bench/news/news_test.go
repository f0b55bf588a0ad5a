// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package news

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

func TestAFeedListsTheEntriesOfWhichItemsAreMade(t *testing.T) {
	t.Parallel()
	const url = "https://news.example.com/feed"
	want := Entries("source-000", 30)
	document, err := feed.Parse(RSS(want), "application/rss+xml", url)
	if err != nil {
		t.Fatal(err)
	}
	source := Source("news", "source-000", url)
	source.UID = "0b0d7f8e"
	for i, entry := range document.Entries {
		if diff := cmp.Diff(Item(source, want[i]), Item(source, entry)); diff != "" {
			t.Fatalf("entry %d: %s", i, diff)
		}
		if len(entry.Content) != contentSize || len(entry.Title) != titleSize {
			t.Errorf("entry %d has %d bytes of content under %d of title", i, len(entry.Content), len(entry.Title))
		}
	}
	if len(document.Entries) != len(want) {
		t.Errorf("%d entries, want %d", len(document.Entries), len(want))
	}
}

func TestItemsAreMadeAsTheOperatorLeavesThem(t *testing.T) {
	t.Parallel()
	source := Source("news", "source-000", "https://news.example.com/feed", Posting)
	item := Item(source, Entries("source-000", 1)[0])
	Summarize(item, source)
	if item.Status.Phase != v1alpha1.PhasePending || item.Status.Summary == nil || item.Status.Deliveries[0].State != v1alpha1.DeliveryIntent {
		t.Errorf("after the summary: %+v", item.Status)
	}
	Publish(item, source)
	row := item.Status.Deliveries[0]
	if item.Status.Phase != v1alpha1.PhaseProcessed || row.State != v1alpha1.DeliveryDone || row.URL == "" || row.ID == "" || row.Key == "" {
		t.Errorf("after the post: %+v", item.Status)
	}

	source.Spec.Destinations = nil
	item = Item(source, Entries("source-000", 1)[0])
	Settle(item, source)
	if item.Status.Phase != v1alpha1.PhaseProcessed || len(item.Status.Deliveries) != 0 {
		t.Errorf("without a destination: %+v", item.Status)
	}
}
