// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/terminal"
)

// postWidth is how many columns of a terminal the text of a post takes.
const postWidth = 88

// readable is a post as a person reads it in a terminal.
func readable(post mastodontest.Post, number int, address string) string {
	about := []string{fmt.Sprintf("Post %d", number), post.Visibility}
	if post.Language != "" {
		about = append(about, post.Language)
	}
	var lines []string
	if post.SpoilerText != "" {
		lines = append(lines, "["+post.SpoilerText+"]")
	}
	lines = append(lines, strings.Split(post.Text, "\n")...)
	for _, image := range post.Images {
		lines = append(lines, strings.TrimSpace("[image] "+image.Description))
	}
	return framed(append(about, address), lines)
}

// framed is a text below what is said about it, with a border.
func framed(about, lines []string) string {
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "%10s┌ %s\n", "", strings.Join(about, " · "))
	for _, line := range terminal.Wrap(strings.Join(lines, "\n"), postWidth) {
		_, _ = fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%10s│ %s", "", line), " "))
	}
	_, _ = fmt.Fprintf(&out, "%10s└", "")
	return out.String()
}
