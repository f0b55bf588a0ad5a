// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATableSaysWhichBarsHold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Print(&out, []Row{
		AtMost("writes", "2.60", 2.6, 3.3, ""), AtMost("memory", "379 MB", 379, 300, " MB"),
		AtLeast("ratio", "0.70", 0.7, 0.7), Note("of them", "%d", 7),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(strings.TrimSpace(out.String())) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"what figure bar holds?", "writes 2.60 ≤ 3.3 yes", "memory 379 MB ≤ 300 MB NO", "ratio 0.70 ≥ 0.7 yes", "of them 7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheRatioIsTheMedianOfTheRoundsEachToWhatIsAroundIt(t *testing.T) {
	t.Parallel()
	if got := Ratio([]float64{80, 10, 90}, []float64{120, 80, 60, 40}); got != 0.8 {
		t.Errorf("ratio %v, want 0.8", got)
	}
}
