// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R1.10: who writes a feed may fill more of an entry than its text: its title, link, GUID, author and categories. No more of that is held than is said.
func TestWhatEntriesHaveBesideTheirTextCountsToo(t *testing.T) {
	t.Parallel()
	var fresh Fresh
	text := func(characters, n int) string { return fmt.Sprintf("%08d", n) + strings.Repeat("水", characters-8) }
	var made []*v1alpha1.FeedItem
	for n := range 2000 {
		item := madeItem(fmt.Sprint("item-", n), "1", "7")
		item.Spec.Title, item.Spec.URL, item.Spec.GUID, item.Spec.Author = text(1024, n), text(4096, n), text(2048, n), text(256, n)
		for range 32 {
			item.Spec.Categories = append(item.Spec.Categories, text(128, n))
		}
		fresh.Expect(item, madeNow).Ended(item)
		made = append(made, item)
	}
	held, items := 0, 0
	for _, item := range made {
		if got := fresh.Take(t.Context(), item, madeNow); got != nil {
			items++
			held += len(got.Spec.Title) + len(got.Spec.URL) + len(got.Spec.GUID) + len(got.Spec.Author) + len(strings.Join(got.Spec.Categories, ""))
		}
	}
	if held > mostFresh/2 {
		t.Errorf("%d MB are held of %d items, such as %s, want %d at most", held>>20, items, client.ObjectKeyFromObject(made[0]), mostFresh>>21)
	}
}
