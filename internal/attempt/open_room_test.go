// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/budget"
)

// R1.6: documents take room as texts do, and give it back.
func TestDocumentsOfAttemptsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	memory := budget.New(budget.Min, func() time.Time { return now })
	document := make([]byte, 300<<10)
	kept := OpenAttempts{Budget: memory}
	items := make([]*v1alpha1.FeedItem, 10)
	for i := range items {
		item := &v1alpha1.FeedItem{}
		item.Namespace, item.Name, item.UID = "default", string(rune('a'+i)), types.UID(rune('a'+i))
		open := newAttempt(item)
		open.page.text, open.page.read = article.Article{Text: "text", Document: document}, now
		kept.keep(item, open)
		items[i] = item
	}
	held := memory.Usage().Waiting
	found := 0
	for _, item := range items {
		if open := kept.of(item, now); !open.page.read.IsZero() && len(open.page.text.Document) == len(document) {
			found++
		}
	}
	if found == 0 || found == len(items) || held != int64(found*(len(document)+len("text"))) {
		t.Errorf("%d of %d documents were kept, in %d bytes", found, len(items), held)
	}
	if left := memory.Usage().Waiting; left != 0 {
		t.Errorf("%d bytes are not given back", left)
	}
}

// R1.6, R6.3: an operator that ends in a process that goes on, because another replica has its shard, leaves no room taken by what waited.
func TestAnOperatorThatEndsGivesBackWhatItsAttemptsHold(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	memory := budget.New(budget.Min, func() time.Time { return now })
	kept := OpenAttempts{Budget: memory}
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name, item.UID = "default", "a", "1"
	open := newAttempt(item)
	open.page.text, open.page.read = article.Article{Text: "text"}, now
	kept.keep(item, open)
	if memory.Usage().Waiting == 0 {
		t.Fatal("nothing is held")
	}
	kept.End()
	if left := memory.Usage().Waiting; left != 0 || kept.Begun(item) {
		t.Errorf("%d bytes are not given back", left)
	}
}
