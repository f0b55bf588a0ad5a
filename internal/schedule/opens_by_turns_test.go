// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/utils/clock"
)

// R3.13: when the schedule opens, what is shared is given by turns: a tenant whose feed says that its entries are old does not take half of it, and
// leave those nothing that come last.
func TestTheScheduleOpensByTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := map[string]int{}
		s := New(clock.RealClock{}, func(key string) { got[strings.Split(key, "/")[0]]++ }, nil)
		limit := Limit{Concurrent: 10, Sharing: ByGroup}
		s.Configure(work, limit)
		const tenants = 8
		for tenant := range tenants {
			for i := range limit.Slots() {
				turn := s.Enter(fmt.Sprint(tenant, "/", i))
				turn.Acquire(asked(1000*tenant+i, fmt.Sprint(tenant), fmt.Sprint("source", i%4)), work)
				turn.Leave()
			}
		}
		s.Open()
		synctest.Wait()
		for tenant := range tenants {
			if part := limit.Slots() / (tenants + 1); got[fmt.Sprint(tenant)] < part || got[fmt.Sprint(tenant)] > part+1 { // one part stays free
				t.Errorf("tenant %d was let through %d times at once, want %d or one more", tenant, got[fmt.Sprint(tenant)], part)
			}
		}
	})
}
