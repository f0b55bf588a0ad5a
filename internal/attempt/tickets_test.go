// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R2.3, R3.6: the right to call one provider is no right to call another, whose pace would be broken by that; and it is used once.
func TestATicketIsForItsOwnProvider(t *testing.T) {
	t.Parallel()
	of := func(name string) link {
		return link{resource: schedule.Provider(types.NamespacedName{Namespace: "news", Name: name})}
	}
	first, second := of("first"), of("second")
	plan := schedule.New(clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)), func(string) {}, nil)
	plan.Configure(first.resource, schedule.Limit{})
	plan.Configure(second.resource, schedule.Limit{})
	plan.Open()
	turn := plan.Enter("item")
	defer turn.Leave()
	ticket, granted := turn.Acquire(schedule.Rank{Name: "item"}, first.resource)
	if !granted {
		t.Fatal("nothing was granted")
	}
	held := &tickets{provider: ticket}
	if held.pop([]link{second}) != nil {
		t.Error("it is used for another provider")
	}
	if held.pop([]link{second, first}) != ticket {
		t.Error("it is not used for its own")
	}
	if held.pop([]link{first}) != nil {
		t.Error("it is used twice")
	}
}
