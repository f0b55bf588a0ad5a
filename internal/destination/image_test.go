// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// R4.1, R5.2: what an image shows is told in one line of text that pings, links and hides nothing, within the server's limit.
func TestAltText(t *testing.T) {
	t.Parallel()
	if got, want := AltText("A \u202edog\n of @alice at t.me", Limits{}), "A dog of alice at t\u2060.me"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, most := range []int{0, 1, 10, 5000} {
		want := most
		if most == 0 {
			want = 1500
		}
		if got := utf8.RuneCountInString(AltText(strings.Repeat("t.me ", 2000), Limits{MaxDescription: most})); got > want || got == 0 {
			t.Errorf("%d characters within %d", got, want)
		}
	}
}

// R4.4: a post is made again without its image only where it was refused with certainty, and not for its length or its sender.
func TestMayBlameImage(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{400: true, 404: true, 410: true, 422: true, 401: false, 403: false, 413: false, 429: false, 500: false, 0: false} {
		if got := MayBlameImage(&failure.Error{Category: failure.FromStatus(status), Status: status}); got != want {
			t.Errorf("%d: %t", status, got)
		}
	}
	if MayBlameImage(&failure.Error{Category: v1alpha1.CategoryValidation, Type: failure.TypeTooLong, Status: 422}) {
		t.Error("a text that is too long is blamed on the image")
	}
}
