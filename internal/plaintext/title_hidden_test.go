// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// R1.6: what is hidden in a title is taken out as an expression would do it.
func TestWhatIsHiddenInATitleIsTakenOut(t *testing.T) {
	t.Parallel()
	hidden := regexp.MustCompile(`(?is)<script(?:\s[^<>]*)?>.*?</script\s*>|<style(?:\s[^<>]*)?>.*?</style\s*>|` +
		`<noscript(?:\s[^<>]*)?>.*?</noscript\s*>|<template(?:\s[^<>]*)?>.*?</template\s*>|<iframe(?:\s[^<>]*)?>.*?</iframe\s*>|` +
		`<svg(?:\s[^<>]*)?>.*?</svg\s*>|<!--.*?-->`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(<svg>|<ſvg>|</ſvg>|<SVG a>|</svg>|</svg >|<style>|</style>|<!--|-->|<!-->|<|>|x| |\n|ſ){0,12}`).Draw(t, "text")
		if got, want := withoutHidden(text), hidden.ReplaceAllString(text, ""); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	})
}
