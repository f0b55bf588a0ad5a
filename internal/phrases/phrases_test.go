// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package phrases_test

import (
	"regexp"
	"testing"

	"github.com/feed-operator/feed-operator/internal/phrases"
)

func TestPhrases(t *testing.T) {
	t.Parallel()
	const words = "but|it is|返金|また|ox|ñ"
	list := phrases.Parse(words)
	var vocabulary phrases.Vocabulary
	vocabulary.Pieces("utt|い|?")
	among := vocabulary.Words(words)
	tests := map[string]struct{ in, begins bool }{
		"but it rained":        {true, true},
		"button":               {false, false},
		"so it is.":            {true, false},
		"but":                  {true, true},
		"全額を返金します。":            {true, false},
		"また、雨だ。":               {true, true},
		"it isn't":             {false, false},
		"it is's":              {true, true}, // an apostrophe ends a word
		"éit is":               {false, false},
		"an ox":                {true, false},
		"a box":                {false, false},
		"España":               {true, false},
		"":                     {false, false},
		"the data base but":    {true, false},
		"a button is it, but?": {false, false}, // the first is looked at
	}
	for text, want := range tests {
		if got := list.In(text); got != want.in {
			t.Errorf("%q has one of them: %t, want %t", text, got, want.in)
		}
		if got := vocabulary.Find(text).Has(among); got != want.in {
			t.Errorf("%q has one of them, found with others: %t, want %t", text, got, want.in)
		}
		if got := list.Begins(text); got != want.begins {
			t.Errorf("%q begins with one of them: %t, want %t", text, got, want.begins)
		}
	}
}

func TestExpressionsAreTriedWhereAPieceIs(t *testing.T) {
	t.Parallel()
	var vocabulary phrases.Vocabulary
	question := vocabulary.Guard(regexp.MustCompile(`\?$|か。$`), "?|か。")
	broken := vocabulary.Guard(regexp.MustCompile(`yes`), "no") // a piece that the expression does not need
	tests := map[string]bool{"Why?": true, "Why? Because.": false, "何か。": true, "何かある。": false, "yes": false, "": false}
	for text, want := range tests {
		found := vocabulary.Find(text)
		if got := question.In(text, found); got != want {
			t.Errorf("%q asks: %t, want %t", text, got, want)
		}
		if broken.In(text, found) {
			t.Errorf("the expression was tried on %q, which has none of its pieces", text)
		}
	}
}
