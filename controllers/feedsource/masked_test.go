// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/itemcontent"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/seen"
)

const redactedSecret = "SECRET-of-the-feed-0123"

// R1.2, R5.6: an item does not hold a secret that its feed repeats, and is known by what its entry was.
func TestAnEntryIsKnownThoughASecretWasMasked(t *testing.T) {
	t.Parallel()
	sent := redact.NewSent(redactedSecret)
	source := &v1alpha1.FeedSource{}
	source.Name, source.UID = "source", "7f0c"
	for what, entry := range map[string]feed.Entry{
		"in its GUID": {GUID: "tag:" + redactedSecret + "/1", URL: "https://example.org/1"},
		"in its link": {URL: "https://example.org/1?token=" + redactedSecret},
		"everywhere": {
			GUID: redactedSecret, URL: "https://example.org/" + redactedSecret, Title: redactedSecret, Author: redactedSecret,
			Categories: []string{"a", redactedSecret}, Content: strings.Repeat("<p>"+redactedSecret+"</p>", 2000),
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			book, err := seen.Load(v1alpha1.FeedMemoryData{})
			if err != nil {
				t.Fatal(err)
			}
			before := fmt.Sprint(entry)
			item := derive.Item(source, entry, book.Trust(), sent)
			content, err := itemcontent.Unpack(item.Spec.Content, item.Spec.CompressedContent)
			if err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprintf("%+v", item.Spec) + content; strings.Contains(text, "SECRET") || !strings.Contains(text, redact.Masked) {
				t.Errorf("the item is %.500s", text)
			}
			if fmt.Sprint(entry) != before {
				t.Error("the entry itself was changed")
			}
			if item.Name != feed.ItemName(source.Name, string(source.UID), entry, book.Trust()) {
				t.Errorf("the item is named %s", item.Name)
			}
			rememberMasked(book, source, []v1alpha1.FeedItem{*item}, []feed.Entry{{GUID: "another"}, entry})
			if hidesSecret(item) != book.Known(feed.Identify(entry)) {
				t.Error("the entry is not known")
			}
			if book.Known(feed.Identify(feed.Entry{GUID: "another"})) {
				t.Error("an entry is known that never became an item")
			}
		})
	}
}
