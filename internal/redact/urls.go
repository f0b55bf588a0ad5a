// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	// secretParameter is what parameters are called that hold a credential, whatever it looks like.
	secretParameter = regexp.MustCompile(`(?i)^(?:[a-z0-9]+[-_])*(?:api[-_]?key|(?:access|auth)[-_]?token|token|secret|password|passwd|pwd|credentials?)$`)
	// plainParameter is what parameters are called that hold a credential, or something else: a key may be a search
	// term, or the name of a section.
	plainParameter = regexp.MustCompile(`(?i)^(?:[a-z0-9]+[-_])*(?:pass|signature|sig|auth|hash|key)$`)
)

// slug is made of words, such as world-news-2026.
var slug = regexp.MustCompile(`(?:^|[-_. +])[a-z]{5,}(?:$|[-_. +])`)

// isCredential reports whether a parameter is named like a credential, and is none of the words that may be
// called so, nor an address.
func isCredential(name, value string) bool {
	if value == "" || strings.Contains(value, "://") {
		return false
	}
	return secretParameter.MatchString(name) || plainParameter.MatchString(name) && !isWord(value) && !slug.MatchString(value)
}

// parameter returns the name and the value of a part of a query. What cannot be unescaped is sent as it stands, and so
// is taken as it stands.
func parameter(part string) (name, value string) {
	name, value, _ = strings.Cut(part, "=")
	return unescaped(name), unescaped(value)
}

// CredentialsIn returns what a URL holds that is, by its place or its name, a credential: the password, or the user
// where there is none, as some services take a key for the name; and the parameters of the query that are named like
// one, but for addresses, and for words where the name has other uses too, such as key. Space around the URL does not
// belong to it. In what is no URL it finds nothing.
func CredentialsIn(address string) []string {
	parsed, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil
	}
	var credentials []string
	if password, set := parsed.User.Password(); set {
		credentials = append(credentials, password)
	} else if parsed.User != nil {
		credentials = append(credentials, parsed.User.Username())
	}
	for part := range strings.SplitSeq(parsed.RawQuery, "&") {
		if name, value := parameter(part); isCredential(name, value) {
			credentials = append(credentials, value)
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
	kept := slices.DeleteFunc(slices.Clone(parameters), func(part string) bool { return isCredential(parameter(part)) })
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
