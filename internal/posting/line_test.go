// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posting

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R3.13, R4.5: work that goes on after its turn keeps its place and its ticket until it gives them back, and then nothing of them stays taken;
// who has handed them over gives back nothing.
func TestWhatIsHandedOverIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	press := schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})
	plan := schedule.New(clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)), func(string) {}, nil)
	plan.Configure(queue.ItemPlaces, schedule.Limit{Concurrent: 1})
	plan.Configure(press, schedule.Limit{Concurrent: 1})
	plan.Open()
	wantInUse := func(when string, want int) {
		t.Helper()
		usage := plan.Snapshot()
		if place, ticket := usage[schedule.KindWork].InUse, usage[schedule.KindDestination].InUse; place != want || ticket != want {
			t.Errorf("%s: %d places and %d tickets are taken, want %d", when, place, ticket, want)
		}
	}
	turn := plan.Enter("item")
	taken, granted := turn.AcquireAll(schedule.Rank{Name: "item"}, Needs(press)...)
	if !granted {
		t.Fatal("nothing was granted")
	}
	line := &Line{Destination: "press", Resource: press}
	line.Assign(turn, taken, granted)
	handed := line.HandOver(turn)
	line.GiveBack()
	turn.Leave()
	wantInUse("after the turn", 1)
	handed.GiveBack()
	wantInUse("after the work", 0)
	handed.GiveBack()
	next := plan.Enter("next")
	defer next.Leave()
	if _, granted := next.AcquireAll(schedule.Rank{Name: "next"}, Needs(press)...); !granted {
		t.Error("the next one gets nothing")
	}
	handed.GiveBack() // what is another's by now stays so
	wantInUse("with the next one", 1)
}
