// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"fmt"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// R2.10, R1.2: whether an entry is remembered can be told by the name of its item, whatever it was told apart by.
func TestTheNameOfAnItemTellsWhetherItsEntryIsRemembered(t *testing.T) {
	t.Parallel()
	tests := map[string]feed.Entry{
		"by its GUID":           {GUID: "1", URL: "https://news.example/1", Title: "One"},
		"by its URL":            {URL: "https://news.example/2", Title: "Two"},
		"by its title":          {Title: "Three", Content: "Three."},
		"with nothing":          {},
		"by a GUID that is odd": {GUID: " ", Title: "Four"},
	}
	for name, entry := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := loaded(t, v1alpha1.FeedMemoryData{})
			item := feed.ItemName("news", "uid", entry, memory.Trust())
			if NamesOf(memory, "news", "uid").Remembered(item) {
				t.Error("it is remembered before it was seen")
			}
			memory.Remember(feed.Identify(entry))
			var data v1alpha1.FeedMemoryData
			memory.Store(&data)
			if !NamesOf(loaded(t, data), "news", "uid").Remembered(item) {
				t.Error("it is not remembered")
			}
			if NamesOf(loaded(t, data), "news", "another uid").Remembered(item) {
				t.Error("it is remembered of another source")
			}
		})
	}
}

// R1.2: of what left a full memory nobody waits until it is in there.
func TestWhatAFullMemoryHasForgottenCountsAsRemembered(t *testing.T) {
	t.Parallel()
	memory := loaded(t, v1alpha1.FeedMemoryData{})
	for i := range minKept - 1 {
		memory.Remember(feed.IdentifyItem(fmt.Sprint(i), "", ""))
	}
	if NamesOf(memory, "news", "uid").Remembered("news-x") {
		t.Error("a memory with room has forgotten something")
	}
	memory.Remember(feed.IdentifyItem("the last", "", ""))
	if !NamesOf(memory, "news", "uid").Remembered("news-x") {
		t.Error("an item waits for a memory that is full")
	}
}

// R1.2: titles and contents take two places for each entry.
func TestAMemoryOfTitlesIsFullWithTwiceAsMany(t *testing.T) {
	t.Parallel()
	memory := loaded(t, v1alpha1.FeedMemoryData{})
	for i := range minKept - 1 {
		memory.Remember(feed.Identify(feed.Entry{Title: fmt.Sprint(i), Content: "It rains."}))
	}
	if NamesOf(memory, "news", "uid").Remembered("news-x") {
		t.Error("a memory with room has forgotten something")
	}
	memory.Remember(feed.Identify(feed.Entry{Title: "the last", Content: "It rains."}))
	if !NamesOf(memory, "news", "uid").Remembered("news-x") {
		t.Error("an item waits for a memory that is full")
	}
}

func loaded(t *testing.T, data v1alpha1.FeedMemoryData) *Memory {
	t.Helper()
	memory, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return memory
}
