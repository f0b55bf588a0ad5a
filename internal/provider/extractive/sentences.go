// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import "github.com/feed-operator/feed-operator/internal/prose"

// split cuts a block into sentences, each on one line and without the mark of a list before it.
func split(block, language string) []string {
	var out []string
	for _, text := range prose.Sentences(block, language) {
		if text = stripMarker(oneLine(text)); text != "" {
			out = append(out, text)
		}
	}
	return out
}
