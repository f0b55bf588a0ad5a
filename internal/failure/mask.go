// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"strings"
	"unicode"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// Masked stands where a secret was.
const Masked = redact.Masked

// Mask replaces what is or may be a secret in a text that a person will see, as redact.Text does.
func Mask(text string) string { return redact.Text(text) }

// printable drops control characters and the marks that change the direction of text, which could
// make a message read as something else, and keeps line breaks.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
}
