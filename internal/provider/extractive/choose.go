// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// How sentences begin that are hard to understand without the one before. Those that lean a little
// name what they speak of ("This change", 「この対策」), the others do not.
var (
	leaning = regexp.MustCompile(`(?i)^(?:` +
		`(?:it|its|he|she|they|his|her|their|however|but|and|so|also|therefore|thus|moreover|furthermore|additionally|meanwhile|instead|` +
		`for example|for instance|as a result|in addition|then|such|both|here|there|still|yet|or|nor|otherwise|similarly|finally|second|third|next|` +
		`(?:this|that|these|those) (?:is|are|was|were|means?|will|can|has|have|would|should|may|could|allows?|makes?))\b|` +
		`(?:また|なお|しかし|一方|さらに|そのため|このため|これ|それ|そこ|ここ|ただし|加えて|例えば|たとえば|あわせて|併せて|特に|まず|次に|最後に|そして|つまり|よって|従って|したがって|だが|ところが))`)
	leaningALittle = regexp.MustCompile(`(?i)^(?:(?:this|that|these|those)\b|こうした|そうした|同[省庁社氏]|この[^たほ度]|その[^他ほ])`)
)

// choose takes at most count sentences of together at most limit characters, by maximal marginal
// relevance: what says most, less what is said already. It stops when the rest is much
// weaker than the first. The result is in the order of the article, empty if no sentence fits.
func choose(candidates []sentence, limit, count int) []sentence {
	const (
		relevance = 0.7  // against 0.3 for being unlike what is chosen
		repeats   = 0.75 // alike enough to say the same
		weak      = 0.4  // of the first one's value
	)
	var chosen []sentence
	taken := make([]bool, len(candidates))
	lengths := make([]int, len(candidates))
	for i := range candidates {
		lengths[i] = prose.Count(candidates[i].text)
	}
	room := limit
	first := 0.0
	for len(chosen) < count {
		next, value := -1, 0.0
		for i := range candidates {
			if taken[i] || lengths[i] > room {
				continue
			}
			closest := 0.0
			for _, c := range chosen {
				closest = max(closest, alike(candidates[i].terms, c.terms))
			}
			worth := relevance*candidates[i].score*support(candidates[i], chosen) - (1-relevance)*closest
			if closest > repeats || next >= 0 && worth <= value {
				continue
			}
			next, value = i, worth
		}
		if next < 0 || len(chosen) > 0 && value < weak*first {
			break
		}
		if len(chosen) == 0 {
			first = value
		}
		taken[next] = true
		room -= lengths[next] + len(" ")
		chosen = append(chosen, candidates[next])
	}
	return inOrder(chosen)
}

// support is below 1 for a sentence that leans on the one before while that is not chosen.
func support(s sentence, chosen []sentence) float64 {
	if slices.ContainsFunc(chosen, func(c sentence) bool { return c.position == s.position-1 }) {
		return 1
	}
	switch {
	case leaning.MatchString(s.text):
		return 0.5
	case leaningALittle.MatchString(s.text):
		return 0.85
	}
	return 1
}

func inOrder(list []sentence) []sentence {
	slices.SortStableFunc(list, func(x, y sentence) int { return x.position - y.position })
	return list
}

// best returns the sentence of the highest score, the first of several.
func best(list []sentence) sentence {
	return slices.MaxFunc(list, func(x, y sentence) int {
		switch {
		case x.score < y.score:
			return -1
		case x.score > y.score:
			return 1
		}
		return 0
	})
}

// join puts sentences on one line, with a space between where the language has one.
func join(list []sentence, language string) string {
	var out strings.Builder
	var last rune
	for i, s := range list {
		first, _ := utf8.DecodeRuneInString(s.text)
		if i > 0 && !((language == "ja" || language == "zh") && (prose.IsWide(last) || prose.IsWide(first))) {
			out.WriteByte(' ')
		}
		out.WriteString(s.text)
		last, _ = utf8.DecodeLastRuneInString(s.text)
	}
	return out.String()
}
