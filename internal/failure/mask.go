// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"strings"
	"unicode"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// Masked stands where a secret was.
const Masked = redact.Masked

// Mask replaces what by its shape is or may be a secret in a text that a person will see, as redact.Text does.
func Mask(text string) string { return redact.Text(text) }

// WithoutEchoes makes a failure of an error about a peer, in whose words nothing of what it was sent to know the operator
// by stands any more. It is for who made the call: later, nobody knows what was sent.
func WithoutEchoes(err error, sent *redact.Sent) *Error {
	known := Classify(err)
	if sent == nil {
		return known
	}
	clean := *known
	clean.Message, clean.Stack = sent.Mask(known.Message), sent.Mask(known.Stack)
	for cause := known.Err; cause != nil; cause = errors.Unwrap(cause) {
		if text := cause.Error(); sent.Holds(text) {
			clean.Err = errors.New(sent.Mask(text))
			break
		}
	}
	return &clean
}

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
