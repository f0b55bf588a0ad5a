// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"errors"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// R1.2: whatever was stored, and whatever a document lists: after a poll all of it is known, also
// after a restart and in another order, and what is stored stays as it is.
func FuzzMemory(f *testing.F) {
	f.Add("", "1|http://a.example/1|A|C\n2|http://a.example/2|B|\n", false, false)
	f.Add("AAAAAAAAAAE=", "1||A|\n1||B|\n||A|\n||A|\n|||\n", true, false)
	f.Add("????", "1|x|A|\n2|x|B|\n1|http://a.example/?utm_id=1|A|\n1|https://A.example|A|", false, true)
	f.Add("AAAA", "", true, true)
	f.Fuzz(func(t *testing.T, stored, document string, guidsUntrusted, urlsUntrusted bool) {
		data := v1alpha1.FeedMemoryData{
			GUIDs: stored, URLs: stored, Contents: stored, Texts: stored, Shared: stored, Reused: stored,
			GUIDsUntrusted: guidsUntrusted, URLsUntrusted: urlsUntrusted,
		}
		if _, err := Load(data); err != nil {
			var failed *failure.Error
			if !errors.As(err, &failed) || failed.Category != v1alpha1.CategoryValidation {
				t.Fatalf("error %#v", err)
			}
			data = v1alpha1.FeedMemoryData{}
		}
		var entries []feed.Entry
		for line := range strings.Lines(document) {
			field := append(strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 4), "", "", "")
			entries = append(entries, feed.Entry{GUID: field[0], URL: field[1], Title: field[2], Content: field[3]})
		}
		pollOnce(t, &data, entries)
		again := data
		if created := pollOnce(t, &again, entries); created != 0 {
			t.Errorf("%d items of entries that are known", created)
		}
		if again != data {
			t.Errorf("the memory of the same document has changed")
		}
		if created := pollOnce(t, &again, turned(entries)); created != 0 {
			t.Errorf("%d items of entries that are known, turned around", created)
		}
	})
}
