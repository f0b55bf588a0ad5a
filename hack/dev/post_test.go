// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

func TestLinesAreBrokenWhereAPersonWould(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line string
		want []string
	}{
		"a short one stays":                      {line: "one two", want: []string{"one two"}},
		"between words":                          {line: "one two three four", want: []string{"one two", "three four"}},
		"between Japanese characters":            {line: "例示省は公表します", want: []string{"例示省は公", "表します"}},
		"not before a full stop":                 {line: "例示省公表。その後", want: []string{"例示省公", "表。その後"}},
		"a number in Japanese stays whole":       {line: "例示省は12345件", want: []string{"例示省は", "12345件"}},
		"a link that is too long is not touched": {line: "see https://example.org/", want: []string{"see", "https://example.org/"}},
		"an empty one":                           {line: "", want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, wrap(test.line, 11)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBreakingLinesLosesNothingButSpaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOf(rapid.RuneFrom([]rune("ab 12例示。、（ー"))).Draw(t, "line")
		unspaced := strings.NewReplacer(" ", "").Replace
		if got := unspaced(strings.Join(wrap(line, 7), "")); got != unspaced(line) {
			t.Errorf("got %q", got)
		}
	})
}
