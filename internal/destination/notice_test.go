// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/prose"
)

var broken = Notice{
	Subject: "Failed for good: FeedItem news/press-4f1a2b3c4d5e6f70",
	Title:   "River levels will be forecast for 15 hours, and the agency that does so has a new name",
	Error:   "The server mastodon.example does not take the post. " + strings.Repeat("It says why at length. ", 20),
	Facts:   "First attempt: 2026-05-04 01:30:00 UTC; retries: 5",
	URL:     "https://agency.example/press/2026/0504.html",
	Advice:  "To retry: kubectl -n news annotate feeditem press-4f1a2b3c4d5e6f70 feeds.feed-operator.io/retry=$(date +%s) --overwrite",
}

// direct makes posts for the account itself.
func direct(t *testing.T) *Composer {
	t.Helper()
	composer, err := NewComposer(Style{Visibility: "direct"})
	if err != nil {
		t.Fatal(err)
	}
	return composer
}

// R3.10: all the facts are told, and what goes first is the end of the error.
func TestComposeNotice(t *testing.T) {
	t.Parallel()
	long := broken
	long.URL += "?" + strings.Repeat("x", 100)
	long.Title = strings.Repeat("A long title. ", 20)
	bare := broken
	bare.Title, bare.URL, bare.Error = "", "", "It broke."
	for name, test := range map[string]struct {
		notice Notice
		limits Limits
		want   []string
		not    []string
	}{
		"what Mastodon takes": {broken, Limits{}, []string{
			broken.Subject, broken.Title, "does not take the post", broken.Facts, broken.URL, broken.Advice,
		}, nil},
		"what a patient server takes":         {broken, Limits{MaxCharacters: 5000}, []string{strings.TrimSpace(broken.Error)}, nil},
		"a long title is shortened":           {long, Limits{}, []string{"A long title", "Last error", long.URL, long.Facts, long.Advice}, []string{long.Title}},
		"little room: the title goes":         {broken, Limits{MaxCharacters: 400}, []string{broken.Subject, "Last error", broken.URL, broken.Advice}, []string{broken.Title}},
		"less: the advice goes too":           {broken, Limits{MaxCharacters: 240}, []string{broken.Subject, "Last error", broken.URL, broken.Facts}, []string{"kubectl"}},
		"hardly any: what it is about stays":  {broken, Limits{MaxCharacters: 60}, []string{broken.URL}, nil},
		"there is neither a link nor a title": {bare, Limits{}, []string{bare.Subject + "\n\nLast error: " + bare.Error + "\n\n" + bare.Facts + "\n\n" + bare.Advice}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			post, err := direct(t).ComposeNotice(test.notice, test.limits)
			if err != nil {
				t.Fatal(err)
			}
			if most := test.limits.orDefault().MaxCharacters; prose.Count(post.Text) > most || post.Visibility != "direct" || post.Language != "en" {
				t.Errorf("%d characters of %d: %+v", prose.Count(post.Text), most, post)
			}
			for _, want := range test.want {
				if !strings.Contains(post.Text, want) {
					t.Errorf("%q is missing in:\n%s", want, post.Text)
				}
			}
			for _, not := range test.not {
				if strings.Contains(post.Text, not) {
					t.Errorf("%q is in:\n%s", not, post.Text)
				}
			}
		})
	}
}

// R3.10, R4.1: titles and errors come from outside: they ping nobody and lead nowhere.
func TestANoticePingsNobody(t *testing.T) {
	t.Parallel()
	notice := broken
	notice.Title, notice.Error = "@everybody look at #this", "see https://evil.example/ or t.me/scam, or ask @admin@evil.example"
	notice.Advice = "To retry: kubectl annotate feeditem x feeds.feed-operator.io/retry=1"
	post, err := direct(t).ComposeNotice(notice, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(post.Text, "@everybody") || strings.Contains(post.Text, " @") || strings.Contains(post.Text, "evil.example/") {
		t.Errorf("told:\n%s", post.Text)
	}
	if !strings.HasSuffix(post.Text, notice.Advice) { // to be copied
		t.Errorf("the advice is not as it was:\n%q", post.Text)
	}
	wantNothingFound(t, post.Text, post.Link, notice.Advice)
}

// Whatever is told, it fits, and its link is whole.
func TestNoticesFit(t *testing.T) {
	t.Parallel()
	text, composer := rapid.StringN(0, 400, -1), direct(t)
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{MaxCharacters: rapid.IntRange(60, 1000).Draw(t, "limit")}
		post, err := composer.ComposeNotice(Notice{
			Subject: text.Draw(t, "subject"), Title: text.Draw(t, "title"), Error: text.Draw(t, "error"), Facts: text.Draw(t, "facts"),
			URL: broken.URL, Advice: text.Draw(t, "advice"),
		}, limits)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(broken.URL, post.Link); diff != "" || !strings.Contains(post.Text, broken.URL) {
			t.Errorf("link %s:\n%s", diff, post.Text)
		}
		if got := prose.Count(strings.Replace(post.Text, broken.URL, strings.Repeat("x", 23), 1)); got > limits.MaxCharacters {
			t.Errorf("%d characters, at most %d:\n%s", got, limits.MaxCharacters, post.Text)
		}
	})
}
