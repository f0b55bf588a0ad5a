// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// A URL in quotes, as errors of net/url and net/http have it: its query may hold anything.
	quotedQuery = regexp.MustCompile(`("[A-Za-z][A-Za-z0-9+.-]*://[^\s"'?#]*)\?(?:[^"\\\n]|\\.)*"`)
	// A URL up to the end of the word: its user info, which may have single quotes in it
	// (RFC 3986, 3.2.1), and its query may hold credentials.
	urlUserInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s"@]*@`)
	urlQuery    = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s"'?#]*)\?[^\s"'#]*`)
	// "Authorization: Bearer x", "Bearer x", "Basic x".
	authHeader = regexp.MustCompile(`(?i)\b(authorization["']?\s*[:=]\s*["']?)[^\r\n"',;]+`)
	scheme     = regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{6,})`)
	// "api_key=x", `"token": "x"`, "password: x".
	keyValue = regexp.MustCompile(`(?i)\b((?:[a-z0-9]+[-_])*(?:api[-_ ]?key|access[-_]?token|token|secret|password|passwd|passphrase|` +
		`credentials?|signing[-_]?key|signature|sig|apikey|key)\\*["']?\s*[:=]\s*\\*["']?)([^\s"'&,;\\]{4,})`)
	// Names that sentences have too. A word after one of them is no secret.
	plainName = regexp.MustCompile(`(?i)^(?:token|secret|credentials?|signature|sig|key)[:=] $`)
)

// secretNames are what stands in all that authHeader and keyValue find, in small letters, by which most texts are told apart at once: a
// time has colons too. To an expression that knows no capitals, the last one is an s.
var secretNames = []string{"authorization", "key", "token", "secret", "passw", "passphrase", "credential", "sig", "ſ"}

// mayName reports whether a text in small letters may name a secret.
func mayName(lower string) bool {
	return slices.ContainsFunc(secretNames, func(name string) bool { return strings.Contains(lower, name) })
}

// tokenShapes are the keys and tokens that are known by their shape, each with a text that stands in
// all of them, by which most texts are told apart at once.
var tokenShapes = []struct {
	mark  string
	shape *regexp.Regexp
}{
	{"AIza", regexp.MustCompile(`AIza[A-Za-z0-9_-]{30,}`)},                                                                       // Google, API keys
	{"ya29.", regexp.MustCompile(`ya29\.[A-Za-z0-9_-]{20,}`)},                                                                    // Google, OAuth
	{"sk-", regexp.MustCompile(`\bsk-(?:proj|svcacct|admin|ant|or)-[A-Za-z0-9_*-]{16,}|\bsk-[A-Za-z0-9*]{20,}`)},                 // OpenAI, Anthropic, OpenRouter
	{"gh", regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{20,}`)},                                                                     // GitHub
	{"github_pat_", regexp.MustCompile(`github_pat_[A-Za-z0-9_]{20,}`)},                                                          // GitHub, fine-grained
	{"glpat-", regexp.MustCompile(`glpat-[A-Za-z0-9_-]{16,}`)},                                                                   // GitLab
	{"xox", regexp.MustCompile(`xox[abeoprs]-[A-Za-z0-9-]{10,}`)},                                                                // Slack
	{"whsec_", regexp.MustCompile(`whsec_[A-Za-z0-9+/=_-]{16,}`)},                                                                // Standard Webhooks
	{"hf_", regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`)},                                                                         // Hugging Face
	{"AKIA", regexp.MustCompile(`\bAKIA[A-Z0-9]{16}\b`)},                                                                         // AWS
	{"eyJ", regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},                                       // JSON Web Tokens (RFC 7519)
	{"PRIVATE KEY", regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[^-]*-----|$)`)}, // PEM (RFC 7468)
}

// shapes masks what looks like a secret.
func shapes(text string) string {
	for _, token := range tokenShapes {
		if strings.Contains(text, token.mark) {
			text = token.shape.ReplaceAllString(text, Masked)
		}
	}
	if strings.Contains(text, "://") {
		text = quotedQuery.ReplaceAllString(text, `${1}"`)
		text = urlUserInfo.ReplaceAllString(text, "${1}")
		text = urlQuery.ReplaceAllString(text, "${1}")
	}
	lower := strings.ToLower(text)
	if strings.ContainsAny(text, ":=") && mayName(lower) {
		text = authHeader.ReplaceAllString(text, "${1}"+Masked)
		text = maskNamed(text, keyValue)
		lower = strings.ToLower(text)
	}
	if strings.Contains(lower, "bearer") || strings.Contains(lower, "basic") {
		text = maskNamed(text, scheme)
	}
	return text
}

// maskNamed masks the second group of a pattern, which the first one names, but for words of ordinary
// sentences: "Basic understanding", "The key: patience". What is left so is looked through again.
func maskNamed(text string, pattern *regexp.Regexp) string {
	var out strings.Builder
	for {
		at := pattern.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(text)
			return out.String()
		}
		name, value := text[at[2]:at[3]], text[at[4]:at[5]]
		out.WriteString(text[:at[4]])
		if (pattern == scheme || plainName.MatchString(name)) && isWord(value) {
			text = text[at[4]:]
			continue
		}
		out.WriteString(Masked)
		text = text[at[5]:]
	}
}

// isWord reports whether a text is a word as sentences have it, and so no key: letters that are small
// but for the first, with the marks that follow words.
func isWord(text string) bool {
	const longestWord = 20
	text = strings.TrimRight(text, ".:!?)…")
	if len(text) > longestWord {
		return false
	}
	for i, r := range text {
		small := r >= 'a' && r <= 'z' || r == '-' && i > 0
		if capital := r >= 'A' && r <= 'Z' && i == 0; !small && !capital {
			return false
		}
	}
	return true
}
