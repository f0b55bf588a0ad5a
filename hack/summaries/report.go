// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// The verdicts, on the built-in summarizer.
const (
	better = "better"
	equal  = "equal"
	worse  = "worse"
)

//go:embed judgements.txt
var judged string

// judgement is what was found on reading, and on which pair.
type judgement struct{ of, verdict, reason string }

// judgements are those that were written down, by the name of the page. A line of judgements.txt is: name, hash of the pair,
// verdict, reason.
func judgements() (map[string]judgement, error) {
	known := map[string]judgement{}
	for line := range strings.Lines(judged) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " ", 4)
		if len(parts) < 4 || parts[2] != better && parts[2] != equal && parts[2] != worse {
			return nil, fmt.Errorf("judgements.txt: %q is not: name, hash, better or equal or worse, reason", line)
		}
		if _, twice := known[parts[0]]; twice {
			return nil, fmt.Errorf("judgements.txt judges %s twice", parts[0])
		}
		known[parts[0]] = judgement{parts[1], parts[2], parts[3]}
	}
	return known, nil
}

// tally counts the verdicts that are on the pairs as they are now.
func tally(pairs []pair, known map[string]judgement) map[string]int {
	counts := map[string]int{}
	for _, p := range pairs {
		if j, ok := known[p.name]; ok && j.of == p.hash() {
			counts[j.verdict]++
		}
	}
	return counts
}

// round are pages that were written when the summarizer was done, and what was found on reading them then, before anything
// was changed for them.
type round struct {
	kinds                string
	pages                []string
	better, equal, worse int
	after                string // what was changed then
}

const plainAndOthers = "of plain news and others"

var rounds = []round{
	{"of the same kinds", []string{
		"en-advisory-plugin", "en-blog-garden", "en-incident-dns", "en-news-ferry", "en-news-verdict", "en-press-museum",
		"ja-blog-kotlin", "ja-incident-cloud", "ja-news-densha", "ja-news-iryo", "ja-press-kosho", "ja-release-app",
	}, 7, 4, 1, "What they showed was mended."},
	{"of kinds that had not been there", []string{
		"en-bulletin-prices", "en-changelog-tasks", "en-court-harbour", "en-howto-bread", "en-newsletter-town", "en-obituary-botanist",
		"en-opinion-trains", "en-recall-heater", "en-sport-final", "en-status-storage", "ja-blog-taishoku", "ja-chuui-router",
		"ja-disclosure-gyoseki", "ja-event-tsuki", "ja-interview-shacho", "ja-kisho-jishin", "ja-news-yuryo", "ja-oshirase-shiyakusho",
		"ja-press-kaseki", "ja-press-shocho",
	}, 12, 5, 3, "In two of those that were equal, both failed. What they showed was mended."},
	{"of other kinds again", []string{
		"en-grant-call", "en-news-school", "en-review-headphones", "en-travel-ferrystrike",
		"ja-column-jitensha", "ja-jinji-shacho", "ja-news-hanketsu", "ja-unko-densha",
		"en-memo-layoffs", "en-podcast-salt", "en-science-glacier", "en-weather-storm",
		"ja-kaishu-okashi", "ja-keizai-gdp", "ja-sports-koya", "ja-techblog-ga",
	}, 15, 1, 0, "A phrase was added."},
	{"of plain news, whose first sentences are the best summary that there is", []string{
		"en-news-acquisition", "en-news-bank", "en-news-dam", "en-news-rocket",
		"ja-news-kosoku", "ja-news-kotsu", "ja-news-shinyaku", "ja-news-yosan",
	}, 5, 0, 3, "From then on, news that begin with the news are told as they begin."},
	{plainAndOthers, []string{
		"en-blog-upgrade", "en-news-market", "en-news-mayor", "en-press-seedbank",
		"ja-blog-ryoko", "ja-news-hasan", "ja-news-senkyo", "ja-press-hikari",
	}, 6, 0, 2, "What they showed was mended."},
	{plainAndOthers, []string{
		"en-news-airport", "en-news-bookshop", "en-news-sleep", "en-release-browser",
		"ja-news-eigo", "ja-news-ooame", "ja-press-toshokan", "ja-release-kamera",
	}, 5, 3, 0, "What they showed was mended."},
	{plainAndOthers, []string{
		"en-blog-bees", "en-gov-pension", "en-news-steel", "en-news-water",
		"ja-column-cha", "ja-news-gas", "ja-news-seiko", "ja-press-daigaku",
	}, 6, 1, 1, "One heading was added."},
	{plainAndOthers, []string{
		"en-blog-compiler", "en-news-museumtheft", "en-news-strikeport", "en-press-clinic",
		"ja-blog-kakei", "ja-news-ryugaku", "ja-news-saikai", "ja-oshirase-hoken",
	}, 8, 0, 0, "Nothing was changed after them."},
}

// report is the page for people.
func report(pairs []pair, known map[string]judgement) string {
	var out strings.Builder
	counts := tally(pairs, known)
	var lines strings.Builder
	later, same := 0, 0
	for _, p := range pairs {
		if strings.HasPrefix(p.summary, p.lead) && p.summary != p.lead {
			same++
		}
	}
	for _, r := range rounds {
		later += len(r.pages)
		fmt.Fprintf(&lines, "- %d %s: better in %d, equal in %d, worse in %d. %s (%s)\n",
			len(r.pages), r.kinds, r.better, r.equal, r.worse, r.after, strings.Join(r.pages, ", "))
	}
	fmt.Fprintf(&out, `# Summaries, side by side

`+"`make summaries`"+` writes this page. It puts the built-in summarizer beside the first three sentences of the same text,
both within %d characters, on %d pages: news, press releases, security advisories, release notes, incidents, blogs, and what
else feeds have, from recalls to recipes, half of them in Japanese, all of our own writing (hack/summaries/pages). Each page
goes the whole way that an entry goes: it is downloaded, its text is found, and that is summarized, without a description
from a feed.

Each pair was read, and it was written down which one tells more of what the article says, and reads better by itself
(hack/summaries/judgements.txt). A judgement belongs to one pair of texts: when either changes, it does not
count any more, and `+"`make test`"+` fails until somebody has read the new pair.

Who works on a summarizer with pages before the eyes makes it good for these pages. So %d of them were written after it was
done, in %d rounds, and read before anything was changed for them:

%s
In the last six rounds it was %s; in the last three, after the change for plain news, %s.
Who wrote and read these pages knew the rules of the summarizer, so that another hand may find more against it.

**The summarizer is better in %d, equal in %d, worse in %d of %d (%.0f %%, %.0f %%, %.0f %%).**
In %d pages it is the same sentences and one more, which was found better where that one tells something of weight.
`, budget, len(pairs), later, len(rounds), lines.String(), found(rounds[2:]), found(rounds[5:]), counts[better], counts[equal], counts[worse], len(pairs),
		percent(counts[better], len(pairs)), percent(counts[equal], len(pairs)), percent(counts[worse], len(pairs)), same)
	for _, p := range pairs {
		verdict, reason := "not judged", "The pair has changed."
		if j, ok := known[p.name]; ok && j.of == p.hash() {
			verdict, reason = j.verdict, j.reason
		}
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", p.name, p.title)
		fmt.Fprintf(&out, "*First three sentences:* %s\n\n*Summarizer:* %s\n\n**%s**: %s\n", p.lead, p.summary, verdict, reason)
	}
	return out.String()
}

// found returns what was found in rounds.
func found(list []round) string {
	var all round
	pages := 0
	for _, r := range list {
		pages += len(r.pages)
		all.better, all.equal, all.worse = all.better+r.better, all.equal+r.equal, all.worse+r.worse
	}
	return fmt.Sprintf("better in %d, equal in %d, worse in %d of %d (%.0f %%, %.0f %%, %.0f %%)", all.better, all.equal, all.worse, pages,
		percent(all.better, pages), percent(all.equal, pages), percent(all.worse, pages))
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
