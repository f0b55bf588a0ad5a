// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/portion"
)

// R6.4, R3.13: a server that never says that it has posted has each post looked for. Of what was found, no more is known after months
// than after some days; and for a day nobody else takes it for theirs.
func TestWhatWasFoundIsNotKnownForEver(t *testing.T) {
	t.Parallel()
	days, daily := 100, portion.Of(2_000, 200)
	var found foundPosts
	for n := range days * daily {
		after := time.Duration(n) * (24 * time.Hour / time.Duration(daily))
		name := func(n int) string { return fmt.Sprint("https://press.example/posts/", n) }
		if !found.claim(after, []string{name(n)}, "mine") {
			t.Fatalf("the post %d is another's", n)
		}
		if n >= daily/2 && found.claim(after, []string{name(n - daily/2)}, "theirs") {
			t.Fatalf("the post %d was taken after half a day", n-daily/2)
		}
	}
	if known := len(found.by); known > 4*daily {
		t.Errorf("%d names are known of %d posts a day", known, daily)
	}
}
