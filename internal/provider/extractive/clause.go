// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// Where a sentence may be cut, the better first: before a clause of its own, or at any comma; and how much of the room
// must be kept for it, in percent.
var borders = []struct {
	ends        []string
	keptPercent int
}{
	{[]string{
		"; ", " – ", " — ", "；", ", and ", ", but ", ", or ", ", which ", ", who ", ", whose ", ", where ", ", while ", ", because ", ", as ",
		", although ", ", though ", ", after ", ", before ", ", for ", ", so ", ", since ", ", when ", ", if ", ", in ", ", with ", ", by ",
		"したが、", "たが、", "るが、", "すが、", "ため、", "ので、", "おり、", "とともに、", "ほか、", "一方、", "して、", "れて、", "いて、", "って、", "えて、", "けて、", "めて、",
		"明らかにし、", "定し、", "求め、", "決め、",
	}, 50},
	{[]string{", ", ": ", "、", "，", "："}, 66},
}

// cutAtClause shortens a sentence to at most limit characters, with "…": after a clause, of which as many are kept as fit;
// between words where too much would be lost for that.
func cutAtClause(text string, limit int) string {
	cut := prose.Clip(text, limit)
	kept, wasCut := strings.CutSuffix(cut, "…")
	if !wasCut || len(kept) >= len(text) {
		return cut
	}
	const longest = 64 // bytes of a border, and of a word that Clip leaves out
	window := text[:min(len(kept)+longest, len(text))]
	for _, border := range borders {
		at := -1
		for _, end := range border.ends {
			// The words after a comma begin the next clause, those before a Japanese one end it.
			begin := len(strings.TrimRight(end, ", abcdefghijklmnopqrstuvwxyz:;–—；：、，"))
			for from := strings.LastIndex(window, end); from >= 0; from = strings.LastIndex(window[:from], end) {
				if prose.Count(text[:from+begin]) < limit {
					at = max(at, from+begin)
					break
				}
			}
		}
		if at > 0 && prose.Count(text[:at])*100 >= limit*border.keptPercent {
			return strings.TrimRight(text[:at], " ,;:、，；：–—") + "…"
		}
	}
	return cut
}
