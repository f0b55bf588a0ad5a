// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/filter"
)

// R1.8, R1.6: whatever the expression and the entry are, it is refused or says something, in the end;
// what fails drops nothing; and the same is said the next time.
func FuzzJudge(f *testing.F) {
	for _, expression := range []string{
		`title.fold().contains('sports') || 'sports' in categories`,
		`categories.all(a, categories.all(b, a + b != title))`,
		`content.split('').exists(c, c.matches('(?i)[x-z]{1,9}'))`,
		`published.getDayOfWeek('Asia/Tokyo') in [0, 6]`,
		`'%s %d %.3f'.format([title, size(author), 1.0]).reverse() == content`,
		`content.replace('', url).indexOf('x') > 3`,
		`url.matches(title)`,
		`[content].map(a, a + a).map(a, a + a).exists(a, a.contains(title))`,
		`{'a': dyn(1), title: published}[author] == content`,
		`string(bytes(title)) == title ? int(author) > 0 : bool(url)`,
		`title.contains(`,
		"\x00",
	} {
		f.Add(expression, "Ｓports", "https://www.example.org/", "Ann", "sports,news", "<p>a&#0;b", int64(1_775_000_000))
	}
	f.Fuzz(func(t *testing.T, expression, title, url, author, categories, content string, published int64) {
		entry := feed.Entry{Title: title, URL: url, Author: author, Categories: strings.Split(categories, ","), Content: content}
		if published != 0 {
			entry.Published = time.Unix(published, 0)
		}
		for _, action := range []v1alpha1.FilterAction{v1alpha1.FilterDrop, v1alpha1.FilterKeep} {
			set, err := filter.Compile([]v1alpha1.EntryFilter{{Name: "f", Action: action, Expression: expression}})
			if err != nil {
				if len(err.Error()) > 5000 {
					t.Fatalf("it is refused in %d bytes", len(err.Error()))
				}
				return
			}
			said := set.Judge(t.Context(), entry)
			if len(said.Failures) > 0 && !said.Keep || said.Keep == (said.Why != "") {
				t.Fatalf("verdict %+v", said)
			}
			sifted := set.Sift(t.Context(), []feed.Entry{entry})
			if len(sifted.Kept) == 1 != said.Keep || !said.Keep && sifted.Dropped[0].Why != said.Why {
				t.Fatalf("verdict %+v, then %+v", said, sifted)
			}
		}
	})
}
