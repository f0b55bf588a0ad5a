// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed_test

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// R5.6: what a server says in the place of a feed may hold the token that it was sent, also where that is cut.
func TestNoPartOfATokenIsInWhatIsSaidOfADocument(t *testing.T) {
	t.Parallel()
	const token = "Recognisable-0123456789-abcdefghijklmnop"
	sent := redact.NewSent(token)
	for before := range 90 {
		for _, document := range []string{
			"<html><head><title>" + strings.Repeat("é", before) + " " + token + "</title></head></html>",
			"<html><head><title>" + strings.Repeat("no ", before/3) + token + "</title></head></html>",
			"<" + strings.Repeat("a", before+1) + token + "></" + strings.Repeat("a", before+1) + token + ">",
			"<rss version='2.0'><channel><" + strings.Repeat("a", before+1) + token + "><item><title>x</title></item></channel></rss>",
		} {
			said := ""
			if read, err := feed.Parse([]byte(document), "", "https://feeds.example.org/"); err != nil {
				said = failure.WithoutEchoes(err, sent).Message
			} else {
				said = sent.Mask(read.Warning())
			}
			if strings.Contains(said, token[:8]) {
				t.Fatalf("%d characters before it: %s", before, said)
			}
		}
	}
}
