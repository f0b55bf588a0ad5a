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

// writtenLast are pages that were written when the summarizer was done.
var writtenLast = []string{
	"en-advisory-plugin", "en-blog-garden", "en-incident-dns", "en-news-ferry", "en-news-verdict", "en-press-museum",
	"ja-blog-kotlin", "ja-incident-cloud", "ja-news-densha", "ja-news-iryo", "ja-press-kosho", "ja-release-app",
}

// report is the page for people.
func report(pairs []pair, known map[string]judgement) string {
	var out strings.Builder
	counts := tally(pairs, known)
	fmt.Fprintf(&out, `# Summaries, side by side

`+"`make summaries`"+` writes this page. It puts the built-in summarizer beside the first three sentences of the same text,
both within %d characters, on %d pages: news, press releases, security advisories, release notes, incidents and blogs,
half of them in Japanese, all of our own writing (hack/summaries/pages). Each page goes the whole way that an entry goes:
it is downloaded, its text is found, and that is summarized, without a description from a feed.

Each pair was read, and it was written down which one tells more of what the article says, and reads better by itself
(hack/summaries/judgements.txt). A judgement belongs to one pair of texts: when either changes, it does not
count any more, and `+"`make test`"+` fails until somebody has read the new pair.

Who works on a summarizer with pages before the eyes makes it good for these pages. So the last twelve (%s)
were written after it was done, and read before anything was changed for them: it was better in 7, equal in 4, worse in 1.
What they showed was mended then.

**The summarizer is better in %d, equal in %d, worse in %d of %d (%.0f %%, %.0f %%, %.0f %%).**
`, budget, len(pairs), strings.Join(writtenLast, ", "), counts[better], counts[equal], counts[worse], len(pairs),
		percent(counts[better], len(pairs)), percent(counts[equal], len(pairs)), percent(counts[worse], len(pairs)))
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

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
