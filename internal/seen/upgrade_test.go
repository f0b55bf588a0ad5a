// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// oldFeeds are documents of which the operator has written testdata/memories.json when it distrusted an attribute for
// good once two entries had shared a value of it: the memories after a poll of each.
var oldFeeds = map[string][]feed.Entry{
	"all":     numbered(4),
	"titles":  each(numbered(4), func(e *feed.Entry) { e.GUID, e.URL = "", "" }),
	"texts":   each(numbered(4), func(e *feed.Entry) { e.GUID, e.URL, e.Title = "", "", "" }),
	"oneGUID": each(numbered(4), func(e *feed.Entry) { e.GUID = "guid" }),
	"oneLink": each(numbered(4), func(e *feed.Entry) { e.URL = "https://news.example/" }),
	"both":    each(numbered(4), func(e *feed.Entry) { e.GUID, e.URL = "guid", "https://news.example/" }),
	"doubled": append(numbered(4), each(numbered(1), func(e *feed.Entry) { e.Content = "longer" })...),
}

func oldMemory(t *testing.T, name string) v1alpha1.FeedMemoryData {
	t.Helper()
	text, err := os.ReadFile("testdata/memories.json")
	if err != nil {
		t.Fatal(err)
	}
	var memories map[string]v1alpha1.FeedMemoryData
	if err := json.Unmarshal(text, &memories); err != nil {
		t.Fatal(err)
	}
	data, found := memories[name]
	if !found {
		t.Fatalf("there is no memory %q", name)
	}
	return data
}

// R1.2: after an upgrade of the operator no old entry is new, and each new one becomes an item.
func TestOldMemoriesAreRead(t *testing.T) {
	t.Parallel()
	for name, entries := range oldFeeds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := oldMemory(t, name)
			if created := pollOnce(t, &data, entries); created != 0 {
				t.Errorf("%d old entries are new after an upgrade", created)
			}
			one := each(numbered(5)[4:], func(e *feed.Entry) {
				if entries[0].GUID == entries[1].GUID {
					e.GUID = entries[0].GUID
				}
				if entries[0].URL == entries[1].URL {
					e.URL = entries[0].URL
				}
			})
			for poll := range 3 {
				created := pollOnce(t, &data, append(slices.Clone(entries), one...))
				if want := max(0, 1-poll); created != want {
					t.Errorf("%d items of a new entry at poll %d after an upgrade, want %d", created, poll, want)
				}
			}
		})
	}
}

// R1.2: an attribute that one double listing had cost its trust is trusted again with the first document after the upgrade.
func TestOldMarksOfADoubleListingAreTakenBack(t *testing.T) {
	t.Parallel()
	data := oldMemory(t, "doubled")
	if !data.GUIDsUntrusted || !data.URLsUntrusted {
		t.Fatal("the old memory has no marks")
	}
	if created := pollOnce(t, &data, revised(numbered(4), 1)); created != 0 {
		t.Errorf("%d items of edited entries", created)
	}
	if data.GUIDsUntrusted || data.URLsUntrusted {
		t.Error("the marks have stayed")
	}
}

// R1.2: an operator that knows nothing of this form finds in the old fields what it needs: GUIDs, URLs, and the contents of
// what nothing else identifies.
func TestAnOlderOperatorFindsWhatItNeeds(t *testing.T) {
	t.Parallel()
	for name, entries := range oldFeeds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var data v1alpha1.FeedMemoryData
			pollOnce(t, &data, entries)
			for _, e := range entries {
				keys := feed.Identify(e)
				neither := (e.GUID == "" || name == "oneGUID" || name == "both") && (e.URL == "" || name == "oneLink" || name == "both")
				if !holds(t, data.GUIDs, keys.GUID) || !holds(t, data.URLs, keys.URL) || neither && !holds(t, data.Contents, keys.Content) {
					t.Errorf("%+v is not found", e)
				}
			}
		})
	}
}

func holds(t *testing.T, field string, key feed.Key) bool {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(field)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(raw) > 0; raw = raw[len(key):] {
		if feed.Key(raw[:len(key)]) == key {
			return true
		}
	}
	return key.IsZero()
}

// R1.2, R2.10: what 20,000 entries take in the API server, which rewrites it as a whole; and that the old contents of a feed in which
// they identify nothing do not stay.
func TestAFullMemoryTakesHalfAMegabyte(t *testing.T) {
	t.Parallel()
	data := v1alpha1.FeedMemoryData{}
	memory := load(t, data)
	for i := range 30_000 {
		memory.Remember(key(i))
	}
	memory.Store(&data)
	data.Version, data.Contents, data.Texts = 0, data.GUIDs, "" // as an older operator has left it
	for i := range portion.Of(100, 4) {
		document := numbered(20 * (i + 1))[20*i:]
		if created := pollOnce(t, &data, document); created != 20 {
			t.Fatalf("%d items of 20 entries", created)
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 480_000 {
		t.Errorf("the memory takes %d bytes", len(text))
	}
}
