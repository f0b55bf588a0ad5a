// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// R2.9: the built-in summarizer works: who reads both finds it better than the first three sentences in at least
// 70 % of the pages, and worse in at most 5 %. Every judgement is on the summary as it is.
func TestSummariesAreBetterThanTheFirstThreeSentences(t *testing.T) {
	t.Parallel()
	pairs, err := compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known, err := judgements()
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]int{}
	for _, p := range pairs {
		languages[language(p.name)]++
		switch j, judged := known[p.name]; {
		case !judged:
			t.Errorf("%s has not been judged: read it in docs/summaries.md after make summaries, and write into judgements.txt: %s %s",
				p.name, p.name, p.hash())
		case j.of != p.hash():
			t.Errorf("%s has changed since it was judged: read it again, and write into judgements.txt: %s %s\nlead: %s\nsummary: %s",
				p.name, p.name, p.hash(), p.lead, p.summary)
		}
		delete(known, p.name)
	}
	for name := range known {
		t.Errorf("judgements.txt judges %s, and there is no such page", name)
	}
	known, _ = judgements()
	counts := tally(pairs, known)
	if got := percent(counts[better], len(pairs)); got < 70 {
		t.Errorf("better in %.0f %%, want at least 70 %%", got)
	}
	if got := percent(counts[worse], len(pairs)); got > 5 {
		t.Errorf("worse in %.0f %%, want at most 5 %%", got)
	}
	if languages["en"] < 15 || languages["ja"] < 15 {
		t.Errorf("pages by language = %v, want 15 of each at least", languages)
	}

	page, err := os.ReadFile("../../docs/summaries.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != report(pairs, known) {
		t.Error("docs/summaries.md is not up to date: run make summaries")
	}
}

func TestLeadIsTheFirstThreeSentences(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ language, text, want string }{
		"headings and bylines are none": {"en", "A heading\n\nBy Jane Doe\n\nOne is here. Two is, too.\n\nThree it is. Four.", "One is here. Two is, too. Three it is."},
		"no spaces in Japanese":         {"ja", "見出し\n\n一つ目だ。二つ目だ。\n\n三つ目だ。四つ目だ。", "一つ目だ。二つ目だ。三つ目だ。"},
		"cut at the end of a sentence":  {"en", strings.Repeat("Word ", 60) + "end. " + strings.Repeat("Word ", 60) + "end.", strings.Repeat("Word ", 60) + "end."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lead(test.text, test.language); got != test.want {
				t.Errorf("lead = %q, want %q", got, test.want)
			}
		})
	}
}

// Each page was unseen once, and each page of a round was judged.
func TestRoundsAreOfPages(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range rounds {
		if r.better+r.equal+r.worse != len(r.pages) {
			t.Errorf("%d pages %s have %d verdicts", len(r.pages), r.kinds, r.better+r.equal+r.worse)
		}
		for _, name := range r.pages {
			if _, err := pages.Open("pages/" + name + ".html"); err != nil || seen[name] {
				t.Errorf("%s is no page, or was unseen twice: %v", name, err)
			}
			seen[name] = true
		}
	}
}

// A verdict that was on another text does not count.
func TestTallyCountsWhatWasRead(t *testing.T) {
	t.Parallel()
	read, changed := pair{name: "en-a", lead: "A.", summary: "B."}, pair{name: "en-b", lead: "A.", summary: "C."}
	counts := tally([]pair{read, changed}, map[string]judgement{
		"en-a": {of: read.hash(), verdict: better}, "en-b": {of: read.hash(), verdict: better},
	})
	if counts[better] != 1 || read.hash() == changed.hash() {
		t.Errorf("counts = %v, want the changed pair not to count", counts)
	}
}
