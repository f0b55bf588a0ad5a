// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dates

import (
	"fmt"
	"testing"
	"time"
)

// R1.1: RFC 822 says what its zones are, and RFC 5322 what its letters are worth: nothing.
func TestZonesOfRFC822(t *testing.T) {
	t.Parallel()
	zones := map[string]int{ // hours east
		"UT": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
		"+0100": 1, "-0930": -9, // and a half
	}
	for letter := 'A'; letter <= 'Z'; letter++ {
		zones[string(letter)] = 0
	}
	for zone, hours := range zones {
		for _, form := range []string{"Fri, 20 Nov 2026 13:05:06 %s", "20 Nov 26 13:05:06 %s", "20 Nov 2026 13:05:06 (%s)", "Friday, 20-Nov-26 13:05:06 %s",
			"Fri, 20 November 2026 13:05:06 %s", "Fri 20 Nov 2026 13:05:06  %s "} {
			raw := fmt.Sprintf(form, zone)
			want := time.Date(2026, 11, 20, 13-hours, 5, 6, 0, time.UTC)
			if zone == "-0930" {
				want = want.Add(30 * time.Minute)
			}
			if got, sure := Parse(raw, "en-US"); !got.Equal(want) || !sure {
				t.Errorf("%q is %v, want %v", raw, got, want)
			}
		}
	}
}
