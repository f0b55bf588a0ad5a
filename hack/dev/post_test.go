// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

func TestPostsAreReadInATerminal(t *testing.T) {
	t.Parallel()
	post := mastodontest.Post{Text: "Title\n\nIt says this.\n\nhttps://example.org/1", Visibility: "unlisted", Language: "en", SpoilerText: "Politics"}
	want := `          ┌ Post 3 · unlisted · en · http://127.0.0.1:8089/@feeds/1
          │ [Politics]
          │ Title
          │
          │ It says this.
          │
          │ https://example.org/1
          └`
	if diff := cmp.Diff(want, readable(post, 3, standInURL+"/@feeds/1")); diff != "" {
		t.Error(diff)
	}
}
