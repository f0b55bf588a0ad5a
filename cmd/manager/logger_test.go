// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// R3.11: every line is written, however many come in a second, at the level that was asked for, and
// each is JSON.
func TestNoLineIsLeftOut(t *testing.T) {
	t.Parallel()
	const many = 1000
	for name, test := range map[string]struct {
		args []string
		want int
	}{
		"as it is":             {nil, many},
		"with debug lines too": {[]string{"--zap-log-level=debug"}, 2 * many},
		"with most lines":      {[]string{"--zap-log-level=3"}, 3 * many},
		"errors only":          {[]string{"--zap-log-level=error"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags, _, err := parseFlags(test.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			log := newLogger(flags.log, &out).WithName("stream")
			for range many {
				log.Info("Post sent", "retry", struct {
					Count int `json:"count"`
				}{1})
				log.V(1).Info("Post sent")
				log.V(3).Info("Post sent")
			}
			got := 0
			for line := range strings.Lines(out.String()) {
				var parsed struct{ Logger, Msg string }
				if err := json.Unmarshal([]byte(line), &parsed); err != nil || parsed.Logger != "stream" || parsed.Msg != "Post sent" {
					t.Fatalf("%v in %s", err, line)
				}
				got++
			}
			if got != test.want {
				t.Errorf("%d lines, want %d", got, test.want)
			}
		})
	}
}
