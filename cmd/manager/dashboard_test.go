// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

// R5.4: what people can do by the page is for those who have shown who they are, or are on the machine itself; a mistake is told in words that say what to do.
func TestActionsWithoutAuthAreForLoopbackOnly(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                    "",
		"--dashboard-actions": "",
		"--dashboard-actions --dashboard-bind-address=localhost:1":            "",
		"--dashboard-actions --dashboard-bind-address=[::1]:1":                "",
		"--dashboard-actions --dashboard-bind-address=127.9.9.9:1":            "",
		"--dashboard-actions --dashboard-bind-address=0":                      "",
		"--dashboard-bind-address=:8083":                                      "",
		"--dashboard-actions --dashboard-auth --dashboard-bind-address=:8083": "",
		"--dashboard-actions --dashboard-bind-address=:8083":                  "bind it to loopback",
		"--dashboard-actions --dashboard-bind-address=0.0.0.0:8083":           "--dashboard-auth",
		"--dashboard-actions --dashboard-bind-address=[::]:8083":              "--dashboard-bind-address=127.0.0.1:8083",
		"--dashboard-actions --dashboard-bind-address=10.0.0.1:8083":          "bind it to loopback",
		"--dashboard-actions --dashboard-bind-address=localhost.evil.org:1":   "bind it to loopback",
		"--dashboard-bind-address=8083":                                       "is not an address",
		"--dashboard-host=https://feeds.example.org":                          "without a scheme",
		"--dashboard-host=feeds.example.org":                                  "",
	} {
		_, _, err := parseFlags(strings.Fields(args), io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
