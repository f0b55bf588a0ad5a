// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"
)

func TestWhatHasALongCharacterIsSearchedForOne(t *testing.T) {
	t.Parallel()
	// Of all kinds that join: what stands before others, marks, joiners, Hangul in parts, flags, colours of skin.
	before, behind := rapid.SampledFrom([]rune("\u0600\u110b")), rapid.SampledFrom([]rune("\u0301\u3099\u200d\ufe0f\u1161\u11ab🏽\u094d\u0e33"))
	base := rapid.SampledFrom([]rune("A漢あア한👩🇯क"))
	cut := 0
	rapid.Check(t, func(t *rapid.T) {
		marks := rapid.SliceOfN(behind, 1, 3).Draw(t, "marks")
		text := rapid.String().Draw(t, "text") + string(rapid.SliceOfN(before, 0, 20).Draw(t, "before")) + string(base.Draw(t, "base")) +
			strings.Repeat(string(marks), rapid.IntRange(0, 20).Draw(t, "times")) + rapid.String().Draw(t, "more")
		for cluster := graphemes.FromString(text); cluster.Next(); {
			if len(cluster.Value()) > MaxClusterBytes {
				cut++
				if !mayHaveLongCluster(text) {
					t.Fatalf("%q has a character of %d bytes, which is not found", text, len(cluster.Value()))
				}
			}
		}
	})
	if cut == 0 {
		t.Error("no text had a long character")
	}
	for before := range MaxClusterBytes / 2 {
		text := strings.Repeat("\u0600", before) + "A" + strings.Repeat("\u0301", MaxClusterBytes/2-before)
		if len(text) <= MaxClusterBytes {
			t.Fatalf("%q is not long", text)
		}
		if !mayHaveLongCluster(text) {
			t.Errorf("%q is not found to be long", text)
		}
	}
}
