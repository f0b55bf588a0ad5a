// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// choose takes at most count sentences of together at most limit characters, by maximal marginal
// relevance: what says most, less what is said already. It stops when the rest is much
// weaker than the first. The result is in the order of the article, empty if no sentence fits.
func choose(candidates []sentence, limit, count int) []sentence {
	const (
		relevance = 0.7  // against 0.3 for being unlike what is chosen
		weak      = 0.15 // of the first one's value
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
			if taken[i] || lengths[i] > room || len(chosen) > 0 && (candidates[i].aside || candidates[i].isLost(chosen)) {
				continue
			}
			n := candidates[i].beside(chosen)
			worth := relevance*candidates[i].score*n.factor - (1-relevance)*n.closest
			if n.said || next >= 0 && worth <= value {
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

// neighbour is what a sentence is beside those that are chosen.
type neighbour struct {
	closest float64 // how much it is like the one that it is most like, from 0 to 1
	said    bool    // nothing of it is new
	factor  float64 // for what it leans on, and what leans on it
}

func (s sentence) beside(chosen []sentence) neighbour {
	const (
		repeats   = 0.75 // alike enough to say the same
		nearlyAll = 0.6  // of what a sentence says: the rest are words between
		explains  = 1.3  // what a chosen one leans on is worth more
	)
	n := neighbour{factor: s.support(chosen)}
	explaining := false
	for _, c := range chosen {
		cosine, held := alike(s.terms, c.terms)
		n.closest = max(n.closest, cosine)
		n.said = n.said || cosine > repeats || held > nearlyAll
		explaining = explaining || c.lean.factor < 1 && slices.Contains(c.lean.on, s.position)
	}
	if explaining {
		n.factor *= explains
	}
	return n
}

func inOrder(list []sentence) []sentence {
	slices.SortStableFunc(list, func(x, y sentence) int { return x.position - y.position })
	return list
}

// best returns the sentence that is worth most by itself, the first of several.
func best(list []sentence) *sentence {
	found := &list[0]
	for i := range list[1:] {
		if s := &list[i+1]; s.score*s.support(nil) > found.score*found.support(nil) {
			found = s
		}
	}
	return found
}

// join puts sentences on one line, with a space between where the language has one, and where it shows what is said by whom:
// after 「…。」 the next sentence would seem to go on with it.
func join(list []sentence, language string) string {
	var out strings.Builder
	var last rune
	for i, s := range list {
		first, _ := utf8.DecodeRuneInString(s.text)
		together := (language == "ja" || language == "zh") && (prose.IsWide(last) || prose.IsWide(first))
		if i > 0 && (!together || last == '」' || last == '』') {
			out.WriteByte(' ')
		}
		out.WriteString(s.text)
		last, _ = utf8.DecodeLastRuneInString(s.text)
	}
	return out.String()
}
