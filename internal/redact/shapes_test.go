// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// R5.6: whatever names a secret is looked at.
func TestNoSecretIsNamedWithoutItsName(t *testing.T) {
	t.Parallel()
	for name, expression := range map[string]*regexp.Regexp{"authHeader": authHeader, "keyValue": keyValue} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				text := rapid.StringMatching(expression.String()).Draw(t, "text")
				if expression.MatchString(text) && !mayName(strings.ToLower(text)) {
					t.Fatalf("%q is not looked at", text)
				}
			})
		})
	}
}
