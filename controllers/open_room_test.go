// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
)

// R1.6: documents take room as texts do, and give it back.
func TestDocumentsOfAttemptsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	document := make([]byte, roomForTexts/8)
	var kept openAttempts
	items := make([]*v1alpha1.FeedItem, 10)
	for i := range items {
		item := &v1alpha1.FeedItem{}
		item.Namespace, item.Name, item.UID = "default", string(rune('a'+i)), types.UID(rune('a'+i))
		open := newAttempt(item)
		open.page.text, open.page.read = article.Article{Text: "text", Document: document}, now
		kept.keep(item, open)
		items[i] = item
	}
	if kept.bytes > roomForTexts {
		t.Errorf("%d bytes are kept", kept.bytes)
	}
	found := 0
	for _, item := range items {
		if open := kept.of(item, now); !open.page.read.IsZero() && len(open.page.text.Document) == len(document) {
			found++
		}
	}
	if found != 7 || kept.bytes != 0 {
		t.Errorf("%d documents were kept, and %d bytes are not given back; want 7 and none", found, kept.bytes)
	}
}
