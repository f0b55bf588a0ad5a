// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R5.4, R1.10: the cached form of a finished item keeps its title, so that it is found by it, but not much of a long one, which then does not tell the
// item from others (R1.2).
func TestOfALongTitleAFinishedItemKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	for title, whole := range map[string]bool{
		"": true, "News": true, "And then…": true, strings.Repeat("x", titleBytes): true, strings.Repeat("水", titleBytes/3): true,
		strings.Repeat("x", titleBytes+1): false, strings.Repeat("水", 1024): false, "x" + strings.Repeat("水", 1023): false,
	} {
		item := &v1alpha1.FeedItem{}
		item.Spec.Title, item.Status.Phase = title, v1alpha1.PhaseProcessed
		if _, err := Slim(item); err != nil {
			t.Fatal(err)
		}
		kept := item.Spec.Title
		if len(kept) > titleBytes || !utf8.ValidString(kept) || !strings.HasPrefix(title, strings.TrimSuffix(kept, ellipsis)) || len(kept) < min(len(title), titleBytes-utf8.UTFMax) {
			t.Errorf("of %d bytes %d are kept: %q", len(title), len(kept), kept)
		}
		if want := map[bool]string{true: title}[whole]; WholeTitle(item) != want {
			t.Errorf("%.20q of %d bytes is known by %q", title, len(title), WholeTitle(item))
		}
	}
}
