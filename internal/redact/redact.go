// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact knows what must not be seen, and hides it in texts: what the operator was told is
// a secret, by its value and in any text; and what looks like one, in texts that are about the
// operator's work.
//
// The values are those of the process, not of an instance. The log, the errors of any package and
// the Events all have to know them, and most of these are reached by nothing that could be handed to
// them; and what one part of a process has read, any other part may meet in an answer.
//
// It is pure. It knows neither Kubernetes nor HTTP: who reads a secret says so with Remember.
package redact

import "strings"

// Masked stands where a secret was.
const Masked = "***MASKED***"

// secrets are the values that this process has been told of.
var secrets = newSet(maxValues)

// Remember has a value masked from now on, wherever it turns up, also in the forms in which it is
// written in URLs, JSON, XML, quotes, hexadecimal and base64, and as a part of what is written in
// base64, such as the user and password of Basic authentication.
//
// Space around the value does not belong to it. Values of fewer than 8 bytes are not masked: they
// turn up by chance. Neither are those of more than 8 KiB. Of the last 4,096 values that were
// remembered none is forgotten. It costs little to remember a value again, which is how one that is
// in use stays known.
func Remember(value string) { secrets.remember(value) }

// Values masks the secrets that are remembered. It changes nothing else, so it serves any text, such
// as an article. It is safe for concurrent use, and costs one pass over the text, none while nothing
// is remembered.
//
// A text that breaks off within a secret, as one that was cut, loses the beginning of it too.
func Values(text string) string { return secrets.mask(text) }

// Within masks the secrets in a text that has a bound, in bytes.
func Within(text string, most int) string {
	masked := Values(text)
	if masked != text && len(masked) > most {
		masked = strings.ToValidUTF8(masked[:most], "")
	}
	return masked
}

// Text masks what is, or may be, a secret in a text that a person is to see, such as an error: the
// secrets that are remembered; user info and query strings of URLs, which are dropped;
// Authorization headers; values that are named like credentials; and keys, tokens and private keys
// of a known shape.
//
// It is idempotent.
func Text(text string) string {
	masked := shapes(Values(text))
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

// IsMasked says whether something was masked in a text.
func IsMasked(text string) bool { return strings.Contains(text, Masked) }
