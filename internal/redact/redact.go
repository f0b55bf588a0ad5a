// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact hides secrets in texts. There are three ways to know one, each for other texts:
//
//   - [Text] knows secrets by their shape, and what stands in the place of one. It looks at nothing but the text, and
//     serves whatever is about the operator's work: errors, conditions, Events.
//   - [Sent] knows what one peer was sent, and serves what that peer says: the entries of a feed, the answers of a
//     provider or of a destination. A secret is only where it was sent, so nobody else can repeat it.
//   - [Known] knows all that the process was told is a secret. It serves the log alone, which only those see who run
//     the operator.
//
// Nothing that a tenant can see may depend on Known: whether a text of theirs is masked would tell them what others
// hold, one guess at a time.
//
// The package is pure. It knows neither Kubernetes nor HTTP.
package redact

import "strings"

// Masked stands where a secret was.
const Masked = "***MASKED***"

// Text masks what is, or may be, a secret in a text that a person is to see, such as an error: user info and query
// strings of URLs, which are dropped; Authorization headers; values that are named like credentials; and keys,
// tokens and private keys of a known shape.
//
// It is idempotent.
func Text(text string) string {
	masked := shapes(text)
	// What was hidden may have stood between a name and its value.
	for range 3 {
		again := shapes(masked)
		if again == masked {
			break
		}
		masked = again
	}
	return masked
}

// IsMasked reports whether something was masked in a text.
func IsMasked(text string) bool { return strings.Contains(text, Masked) }
