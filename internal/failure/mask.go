// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"regexp"
	"strings"
	"unicode"
)

// Masked stands where a secret was.
const Masked = "***MASKED***"

var (
	// A URL up to the end of the word: its user info and its query may hold credentials.
	urlUserInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s"'@]*@`)
	urlQuery    = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s"'?#]*)\?[^\s"'#]*`)
	// "Authorization: Bearer x", "Bearer x", "Basic x".
	authHeader = regexp.MustCompile(`(?i)\b(authorization["']?\s*[:=]\s*["']?)[^\r\n"',;]+`)
	scheme     = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	// "api_key=x", `"token": "x"`, "password: x".
	keyValue = regexp.MustCompile(`(?i)\b((?:x-)?(?:goog-)?(?:api[-_ ]?key|access[-_]?token|token|secret|password|passwd|signing[-_]?key|apikey|key)["']?\s*[:=]\s*["']?)[^\s"'&,;]{4,}`)
)

// Mask replaces what may be a secret in a text that a person will see: user info and query
// strings of URLs, authorization headers, and values that are named like credentials.
func Mask(text string) string {
	if !strings.ContainsAny(text, ":=?@") && !scheme.MatchString(text) {
		return text
	}
	text = urlUserInfo.ReplaceAllString(text, "${1}")
	text = urlQuery.ReplaceAllString(text, "${1}")
	text = authHeader.ReplaceAllString(text, "${1}"+Masked)
	text = scheme.ReplaceAllString(text, "${1} "+Masked)
	return keyValue.ReplaceAllString(text, "${1}"+Masked)
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
