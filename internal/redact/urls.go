// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretParameter is what parameters are called that hold a credential.
var secretParameter = regexp.MustCompile(`(?i)^(?:[a-z0-9]+[-_])*(?:api[-_]?key|(?:access|auth)[-_]?token|token|secret|password|passwd|pass|pwd|` +
	`credentials?|signature|sig|auth|hash|key)$`)

// slug is made of words, such as world-news-2026.
var slug = regexp.MustCompile(`(?:^|[-_. +])[a-z]{5,}(?:$|[-_. +])`)

// isCredential says whether a parameter is named like a credential, and is none of the words that may be
// called so: a key may be a search term, or the name of a section.
func isCredential(name, value string) bool {
	return secretParameter.MatchString(name) && !isWord(value) && !slug.MatchString(value) && !strings.Contains(value, "://")
}

// CredentialsIn returns what a URL holds that is, by its place or its name, a credential: the password, or the user
// where there is none, as some services take a key for the name; and the parameters of the query that are named like
// one, but for those that are words or addresses.
func CredentialsIn(address string) []string {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var credentials []string
	if password, set := parsed.User.Password(); set {
		credentials = append(credentials, password)
	} else if parsed.User != nil {
		credentials = append(credentials, parsed.User.Username())
	}
	for name, values := range parsed.Query() {
		for _, value := range values {
			if isCredential(name, value) {
				credentials = append(credentials, value)
			}
		}
	}
	slices.Sort(credentials)
	return credentials
}

// WithoutCredentials returns a URL without its user info, and without the parameters of its query that
// CredentialsIn finds; all else stays as it is. What is no URL is masked like other texts.
func WithoutCredentials(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return Text(address)
	}
	parameters := strings.Split(parsed.RawQuery, "&")
	kept := slices.DeleteFunc(slices.Clone(parameters), func(parameter string) bool {
		name, value, _ := strings.Cut(parameter, "=")
		return isCredential(unescaped(name), unescaped(value))
	})
	if parsed.User == nil && len(kept) == len(parameters) {
		return address
	}
	parsed.User, parsed.RawQuery = nil, strings.Join(kept, "&")
	return parsed.String()
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}
