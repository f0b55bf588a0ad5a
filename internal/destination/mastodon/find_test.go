// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const (
	link   = "https://example.org/articles/1?a=1&b=2"
	text   = "要約。A summary!\n\n" + link + "\n\n#news"
	listed = "GET /api/v1/accounts/{id}/statuses"
	sought = "GET /api/v1/statuses/{id}/source"
)

// wanted is what is looked for, unless a test says otherwise.
var wanted = destination.Post{Text: text, Link: link, ContentWarning: "news"}

// published is wanted, as it stands on the server.
func published(at time.Duration) mastodontest.Post {
	return mastodontest.Post{Text: text, SpoilerText: "news", CreatedAt: start.Add(at)}
}

// R4.4: a post is looked up before it is posted again.
func TestFinds(t *testing.T) {
	t.Parallel()
	change := func(change func(*mastodontest.Post)) mastodontest.Post {
		post := published(0)
		change(&post)
		return post
	}
	tests := map[string]struct {
		posts []mastodontest.Post
		// edited is the text that the first post was edited to.
		edited string
		post   destination.Post
		taken  []int
		// want is the index of the post, or -1.
		want int
	}{
		"nothing was posted":            {post: wanted, want: -1},
		"it is there":                   {posts: []mastodontest.Post{published(0)}, post: wanted, want: 0},
		"it is as old as it can be":     {posts: []mastodontest.Post{published(-10 * time.Minute)}, post: wanted, want: 0},
		"one is older than it can be":   {posts: []mastodontest.Post{published(-10*time.Minute - 2*time.Second)}, post: wanted, want: -1},
		"direct":                        {posts: []mastodontest.Post{change(func(p *mastodontest.Post) { p.Visibility = "direct" })}, post: wanted, want: 0},
		"private":                       {posts: []mastodontest.Post{change(func(p *mastodontest.Post) { p.Visibility = "private" })}, post: wanted, want: 0},
		"the oldest of several":         {posts: []mastodontest.Post{published(-time.Minute), published(0)}, post: wanted, want: 0},
		"one is another item's":         {posts: []mastodontest.Post{published(-time.Minute), published(0)}, post: wanted, taken: []int{0}, want: 1},
		"all are other items'":          {posts: []mastodontest.Post{published(-time.Minute), published(0)}, post: wanted, taken: []int{0, 1}, want: -1},
		"another text":                  {posts: []mastodontest.Post{change(func(p *mastodontest.Post) { p.Text = "Another. " + link })}, post: wanted, want: -1},
		"another warning":               {posts: []mastodontest.Post{change(func(p *mastodontest.Post) { p.SpoilerText = "other" })}, post: wanted, want: -1},
		"no warning":                    {posts: []mastodontest.Post{change(func(p *mastodontest.Post) { p.SpoilerText = "" })}, post: wanted, want: -1},
		"a boost of another's":          {posts: []mastodontest.Post{change(func(p *mastodontest.Post) { p.Boost = true })}, post: wanted, want: -1},
		"edited, with the link":         {posts: []mastodontest.Post{published(0)}, edited: "Corrected. " + link, post: wanted, want: 0},
		"edited, without the link":      {posts: []mastodontest.Post{published(0)}, edited: "Withdrawn.", post: wanted, want: -1},
		"edited, with a longer link":    {posts: []mastodontest.Post{published(0)}, edited: "Corrected. " + link + "2", post: wanted, want: -1},
		"edited, and back":              {posts: []mastodontest.Post{published(0)}, edited: text, post: wanted, want: 0},
		"spaces that servers strip":     {posts: []mastodontest.Post{published(0)}, post: destination.Post{Text: text + "\n", Link: link, ContentWarning: " news"}, want: 0},
		"no link, the same text":        {posts: []mastodontest.Post{{Text: "Only text."}}, post: destination.Post{Text: "Only text."}, want: 0},
		"no link, another text":         {posts: []mastodontest.Post{{Text: "Only text."}}, post: destination.Post{Text: "Other text."}, want: -1},
		"no link, other punctuation":    {posts: []mastodontest.Post{{Text: "Only text."}}, post: destination.Post{Text: "Only text!"}, want: -1},
		"no link, edited a little":      {posts: []mastodontest.Post{{Text: "Only text."}}, edited: "Only text!", post: destination.Post{Text: "Only text."}, want: -1},
		"no link, and edited":           {posts: []mastodontest.Post{{Text: "Only text."}}, edited: "Other", post: destination.Post{Text: "Only text."}, want: -1},
		"a link with escapes":           {posts: []mastodontest.Post{{Text: "a https://example.org/%E8%A6%81"}}, edited: "b https://example.org/要", post: destination.Post{Text: "a https://example.org/%E8%A6%81", Link: "https://example.org/%E8%A6%81"}, want: 0},
		"a link that the server cuts":   {posts: []mastodontest.Post{{Text: "a https://example.org/a_(b)"}}, post: destination.Post{Text: "a https://example.org/a_(b)", Link: "https://example.org/a_(b)"}, want: 0},
		"composed in another way":       {posts: []mastodontest.Post{{Text: "cafe\u0301 " + link}}, post: destination.Post{Text: "café " + link, Link: link}, want: 0},
		"markup that is only in source": {posts: []mastodontest.Post{{Text: "*a* <b> & c " + link}}, post: destination.Post{Text: "*a* <b> & c " + link, Link: link}, want: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{})
			ids := server.Publish(test.posts...)
			if test.edited != "" {
				server.Edit(ids[0], test.edited)
			}
			got, found, err := newClient(t, server.URL).Find(t.Context(), destination.Query{
				Since: start.Add(-10 * time.Minute), Post: test.post,
				Taken: func(receipt destination.Receipt) bool {
					for _, index := range test.taken {
						if receipt.ID == ids[index] {
							return true
						}
					}
					return false
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			var want destination.Receipt
			if test.want >= 0 {
				want = destination.Receipt{ID: ids[test.want], URL: server.URL + "/@feeds/" + ids[test.want]}
			}
			if got != want || found != (test.want >= 0) {
				t.Errorf("got %+v, %t, want %+v", got, found, want)
			}
			if server.Count(posting) != 0 {
				t.Error("looking posted something")
			}
		})
	}
}

// R4.4: short and empty pages are not the last ones, and the search ends where it may.
func TestFindTurnsThePages(t *testing.T) {
	t.Parallel()
	boosts := func(count int) []mastodontest.Post {
		posts := make([]mastodontest.Post, count)
		for i := range posts {
			posts[i] = mastodontest.Post{Boost: true, CreatedAt: start}
		}
		return posts
	}
	others := func(count int, at time.Duration) []mastodontest.Post {
		posts := make([]mastodontest.Post, count)
		for i := range posts {
			posts[i] = mastodontest.Post{Text: fmt.Sprintf("Number %d", i), CreatedAt: start.Add(at)}
		}
		return posts
	}
	tests := map[string]struct {
		before, after []mastodontest.Post
		wantPages     int
		want          *outcome
	}{
		"on the first page":                  {nil, nil, 2, nil},
		"behind full pages":                  {nil, others(8, 0), 4, nil},
		"behind pages of boosts":             {nil, boosts(9), 4, nil},
		"no further than needed":             {others(100, -time.Hour), nil, 1, nil},
		"no further than a page of old ones": {others(100, -time.Hour), others(3, 0), 2, nil},
		"so far that it is barely seen":      {others(4, -time.Hour), others(4*(maxPages-1), 0), maxPages, nil},
		"beyond what is seen": {
			others(4, -time.Hour), others(4*maxPages, 0), maxPages,
			&outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0, false},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{PageSize: 4})
			server.Publish(test.before...)
			id := server.Publish(published(0))[0]
			server.Publish(test.after...)
			got, found, err := newClient(t, server.URL).Find(t.Context(), destination.Query{Since: start.Add(-time.Minute), Post: wanted})
			if test.want != nil {
				wantOutcome(t, err, *test.want)
				if !errors.Is(err, destination.ErrTooMany) {
					t.Error("it does not say that another search would see no more")
				}
			} else if err != nil || !found || got.ID != id {
				t.Errorf("got %+v, %t, %v, want %s", got, found, err, id)
			}
			if pages := server.Count(listed); pages != test.wantPages {
				t.Errorf("%d pages were read, want %d", pages, test.wantPages)
			}
		})
	}
}

func TestFindAsksNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{})
	var ids []string
	for i := range 30 {
		ids = append(ids, server.Publish(mastodontest.Post{Text: fmt.Sprintf("Number %d", i), CreatedAt: start})...)
	}
	server.Publish(published(0))
	queries := make(chan string, 10)
	server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		queries <- r.URL.RawQuery
		return false
	})
	if _, found, err := newClient(t, server.URL).Find(t.Context(), destination.Query{Since: start, Post: wanted}); !found || err != nil {
		t.Errorf("got %t, %v", found, err)
	}
	if first, second := <-queries, <-queries; first != "" || second != "exclude_reblogs=true&limit=40" {
		t.Errorf("asked for %q, then %q", first, second)
	}
	if server.Count(sought) != 0 {
		t.Errorf("%d sources of %d other posts were asked for", server.Count(sought), len(ids))
	}
}
