// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// R1.2: older versions masked in all feeds what any object of the cluster held. Entries of which there are such items stay
// known where the same texts are not masked any more, also if the older version was ended before it remembered them.
func TestItemsThatAnOlderVersionMaskedDoNotComeAgain(t *testing.T) {
	t.Parallel()
	const common = "https://news.example" // what another tenant had for a token
	mask := redact.NewSent(common)
	for name, entry := range map[string]feedtest.Entry{
		"in the GUID and the link": {GUID: common + "/g/1", Link: common + "/1", Title: "One", Content: "One."},
		"in the GUID alone":        {GUID: common + "/g/1", Title: "One", Content: "One."},
		"in the link alone":        {Link: common + "/1", Title: "One", Content: "One."},
		"in the link, with a GUID": {GUID: "1", Link: common + "/1", Title: "One", Content: "One."},
		"in what has neither":      {Title: "One of " + common, Content: "One."},
		"within a GUID":            {GUID: "tag:1:" + common, Link: "https://other.example/1", Title: "One", Content: "One."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			web := feedtest.New(t)
			fresh := feedtest.Entry{GUID: "2", Link: "https://other.example/2", Title: "Two", Content: "Two.", Published: time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)}
			web.List(fresh, entry)
			source := w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
				source.Spec.Suspend = true
				source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourceFeed}
			})
			w.untilSource("news", saysOf(v1alpha1.ReasonSuspended))
			old := derive.Item(source, feed.Entry{GUID: entry.GUID, URL: entry.Link, Title: entry.Title, Content: entry.Content}, feed.Trust{}, mask)
			if err := w.client.Create(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			w.change(source, `{"spec":{"suspend":false}}`)
			done := func(items []v1alpha1.FeedItem) error {
				for i := range items {
					if items[i].Spec.Title == fresh.Title && len(items) == 2 {
						return nil
					}
				}
				return fmt.Errorf("items %v", titles(items))
			}
			w.untilItems("news", done)
			third := fresh
			third.GUID, third.Link, third.Title = "3", "https://other.example/3", "Three"
			web.List(third, fresh, entry) // what was remembered is all that counts now
			w.deleteItems("news")
			w.poll("news")
			items, err := w.items(t.Context(), "news")
			if err != nil || len(items) != 1 || items[0].Spec.Title != third.Title {
				t.Errorf("%v, %v", titles(items), err)
			}
		})
	}
}
