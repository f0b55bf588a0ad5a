// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"net/url"
	"regexp"
)

// secretParameter is what parameters are called that hold a credential.
var secretParameter = regexp.MustCompile(`(?i)^(?:[a-z0-9]+[-_])*(?:api[-_]?key|(?:access|auth)[-_]?token|token|secret|password|passwd|pass|pwd|` +
	`credentials?|signature|sig|auth|hash|key)$`)

// slug is made of words, such as world-news-2026.
var slug = regexp.MustCompile(`(?:^|[-_. +])[a-z]{5,}(?:$|[-_. +])`)

// RememberURL remembers the password of a URL, and the parameters of its query that are named like
// credentials, but for those that are words: a key may be a search term, or the name of a section.
func RememberURL(address string) {
	parsed, err := url.Parse(address)
	if err != nil {
		return
	}
	if password, set := parsed.User.Password(); set {
		Remember(password)
	}
	for name, values := range parsed.Query() {
		if !secretParameter.MatchString(name) {
			continue
		}
		for _, value := range values {
			if !isWord(value) && !slug.MatchString(value) {
				Remember(value)
			}
		}
	}
}
