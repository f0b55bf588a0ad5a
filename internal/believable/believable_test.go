// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package believable_test

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/believable"
)

// R3.14
func TestTimesThatCanBeRight(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		at           time.Duration
		coming, past bool
	}{
		"long ago":                    {-8760 * time.Hour, true, true},
		"now":                         {0, true, true},
		"now, by a clock that is off": {believable.Slack, true, true},
		"soon":                        {2 * believable.Slack, true, false},
		"as late as the rule says":    {time.Hour + believable.Slack, true, false},
		"later than that":             {time.Hour + believable.Slack + time.Second, false, false},
		"in a year":                   {8760 * time.Hour, false, false},
	} {
		if got := believable.Coming(now.Add(test.at), now, time.Hour); got != test.coming {
			t.Errorf("%s: to come is %t", name, got)
		}
		if got := believable.Past(now.Add(test.at), now); got != test.past {
			t.Errorf("%s: past is %t", name, got)
		}
	}
}
