// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"testing"
)

func TestTheRatioIsTheMedianOfTheRoundsEachToWhatIsAroundIt(t *testing.T) {
	t.Parallel()
	works, bare := speeds{{rate: 80}, {rate: 10}, {rate: 90}}, speeds{{rate: 120}, {rate: 80}, {rate: 60}, {rate: 40}}
	if got := works.ratio(bare, func(s speed) float64 { return s.rate }); got != 0.8 {
		t.Errorf("ratio %v, want 0.8", got)
	}
}
