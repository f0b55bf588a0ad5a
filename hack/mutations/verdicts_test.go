// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// What go test -json says of a test decides; that something else has failed is nothing that the test has found.
func TestWhatCountsAsCaught(t *testing.T) {
	t.Parallel()
	const begins, waits, goesOn = `{"Action":"run","Test":"TestA"}`, `{"Action":"pause","Test":"TestA"}`, `{"Action":"cont","Test":"TestA"}`
	const allFails = `{"Action":"fail"}`
	for name, test := range map[string]struct {
		said []string
		want string
	}{
		"it fails":                       {[]string{begins, `{"Action":"fail","Test":"TestA"}`, allFails}, "caught by TestA"},
		"it passes":                      {[]string{begins, `{"Action":"pass","Test":"TestA"}`, `{"Action":"pass"}`}, "NOT CAUGHT TestA passed"},
		"it is skipped":                  {[]string{begins, `{"Action":"skip","Test":"TestA"}`, `{"Action":"pass"}`}, "NOT CAUGHT TestA was skipped"},
		"another one fails":              {[]string{begins, `{"Action":"pass","Test":"TestA"}`, `{"Action":"fail","Test":"TestB"}`, allFails}, "NOT CAUGHT TestA passed"},
		"there is a panic while it runs": {[]string{begins, waits, goesOn, allFails}, "caught by TestA (which did not end)"},
		"there is a panic before it":     {[]string{begins, waits, allFails}, "NOT CAUGHT TestA did not run to its end"},
		"it never began":                 {[]string{allFails}, "NOT CAUGHT TestA did not run to its end"},
		"it does not compile": {
			[]string{`{"Action":"build-output","Output":"missing return\n"}`, `{"Action":"build-fail"}`, allFails}, "NOT COMPILED missing return",
		},
	} {
		found := judge([]byte(strings.Join(test.said, "\n"))).of([]string{"TestA"})
		if got := found.word() + " " + found.why; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
