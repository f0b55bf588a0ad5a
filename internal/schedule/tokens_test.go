// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/quota"
)

// writesTokens is what a controller does: it writes down what is asked for, after a moment.
func (w *world) writesTokens(writes *atomic.Int32) {
	w.WatchTokens(func(id Resource) {
		go func() {
			time.Sleep(20 * time.Millisecond)
			writes.Add(1)
			w.TokensWritten(id, w.Tokens(id, true))
		}()
	})
}

const day = 24 * time.Hour

// R2.3, R3.9, R3.12: a queue that needs four days of tokens. Each day is used to the last call that
// fits, begins at midnight to the moment, keeps the order, and costs few writes and wakes.
func TestTokensPerDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, perDay, cost = 350, 100_000, 1000
		keys, ranks := items(n)
		w := newWorld(keys)
		var writes atomic.Int32
		w.writesTokens(&writes)
		w.Configure(gemini, Limit{PerMinute: 60, Concurrent: 4, TokensPerDay: perDay})
		w.run(64, func(key string, turn *Turn) {
			ticket, ok := turn.Acquire(ranks[key], gemini)
			if !ok {
				return
			}
			w.begin(key)
			time.Sleep(3 * time.Second)
			ticket.Used(cost)
			ticket.Succeeded()
			w.finish(key)
		})
		if diff := cmp.Diff(keys, w.begun); diff != "" {
			t.Errorf("order (-want +got)\n%s", diff)
		}
		perCalendarDay := map[string]int{}
		for _, at := range w.at {
			perCalendarDay[at.UTC().Format(time.DateOnly)]++
		}
		want := map[string]int{"2000-01-01": 100, "2000-01-02": 100, "2000-01-03": 100, "2000-01-04": 50}
		if diff := cmp.Diff(want, perCalendarDay); diff != "" {
			t.Errorf("calls a day (-want +got)\n%s", diff)
		}
		for _, i := range []int{100, 200, 300} {
			if late := w.at[i].Sub(w.at[i].UTC().Truncate(day)); late > time.Second {
				t.Errorf("the day began %s after midnight", late)
			}
		}
		w.wantEnters(t, 2, 2)
		if got := writes.Load(); got > 4*30 {
			t.Errorf("%d writes in four days", got)
		}
	})
}

// R3.6, R3.9: while a block is being reserved the provider is busy, and waited for; when the day's
// tokens are used up it is down, and who waits goes on to the next.
func TestWhoWaitsForSpentTokensGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil)
		var asked []Resource
		w.WatchTokens(func(id Resource) { asked = append(asked, id) })
		w.Configure(gemini, Limit{TokensPerDay: 1000})
		w.Configure(openAI, Limit{})
		w.Open()
		first, second := w.Enter("first"), w.Enter("second")
		if _, ok := first.Acquire(published(1), gemini, openAI); ok {
			t.Fatal("granted before anything was reserved")
		}
		if diff := cmp.Diff([]Resource{gemini}, asked); diff != "" {
			t.Fatalf("asked (-want +got)\n%s", diff)
		}
		held := w.Tokens(gemini, true)
		if held.Reserved != 50 {
			t.Fatalf("to be reserved: %+v", held)
		}
		w.TokensWritten(gemini, held)
		ticket, ok := first.Acquire(published(1), gemini, openAI)
		if !ok || ticket.Resource() != gemini {
			t.Fatal("not granted though a block is reserved")
		}
		if _, ok := second.Acquire(published(2), gemini, openAI); ok {
			t.Fatal("granted though what is reserved is for the call under way")
		}
		ticket.Used(5000)
		ticket.Done() // what it has cost counts, however it has ended
		passed, ok := second.Acquire(published(2), gemini, openAI)
		if !ok || passed.Resource() != openAI {
			t.Fatal("not passed on to the next provider")
		}
		if len(w.queue.keys) == 0 || w.queue.keys[len(w.queue.keys)-1] != "second" {
			t.Errorf("woken: %v", w.queue.keys)
		}
		until, spent := w.TokensSpent(gemini)
		if midnight := time.Now().UTC().Truncate(day).Add(day); !spent || !until.Equal(midnight) {
			t.Errorf("spent %t until %s", spent, until)
		}
		w.Configure(gemini, Limit{TokensPerDay: 1_000_000})
		if _, spent := w.TokensSpent(gemini); spent {
			t.Error("spent though the limit was raised")
		}
		w.Configure(gemini, Limit{TokensPerDay: 2000})
		if _, spent := w.TokensSpent(gemini); !spent {
			t.Error("not spent though the limit was lowered")
		}
		w.Configure(gemini, Limit{})
		if !w.Free(gemini) {
			t.Error("not free though the limit was taken away")
		}
		passed.Cancel()
		first.Leave()
		second.Leave()
	})
}

// R3.9: a call that is not counted by the provider is thought to cost what others do; one that has
// failed costs nothing but what is said.
func TestCallsWithoutACountOfTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil)
		w.Configure(gemini, Limit{TokensPerDay: 1_000_000})
		w.TokensWritten(gemini, quota.Tokens{Day: time.Now().UTC().Truncate(day), Reserved: 500_000})
		w.Open()
		const thought = 4000 // what a call costs of which nobody has said so
		for _, step := range []struct {
			end  func(*Ticket)
			want int64
		}{
			{func(ticket *Ticket) { ticket.Failed(failed(v1alpha1.CategoryNetwork)) }, 0},
			{func(ticket *Ticket) { ticket.Succeeded() }, thought},
			{func(ticket *Ticket) { ticket.Done() }, thought},
			{func(ticket *Ticket) { ticket.Cancel() }, thought},
			{func(ticket *Ticket) { ticket.Used(7000); ticket.Succeeded() }, thought + 7000},
			{func(ticket *Ticket) { ticket.Succeeded(); ticket.Used(50) }, thought + 14_000},
		} {
			turn := w.Enter("key")
			ticket, ok := turn.Acquire(published(1), gemini)
			if !ok {
				t.Fatal("not granted")
			}
			step.end(ticket)
			turn.Leave()
			if got := w.Tokens(gemini, false).Used; got != step.want {
				t.Errorf("%d tokens, want %d", got, step.want)
			}
		}
	})
}

// R3.9: tokens that were restored count before the provider is configured, and are not forgotten
// meanwhile; those of a provider that is gone are.
func TestRestoredTokensWaitForTheirProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil)
		w.Open()
		today := time.Now().UTC().Truncate(day)
		w.RestoreTokens(gemini, quota.Tokens{Day: today, Used: 10, Reserved: 1000})
		w.Configure(gemini, Limit{TokensPerDay: 1000})
		if _, spent := w.TokensSpent(gemini); !spent {
			t.Error("forgotten")
		}
		w.Remove(gemini)
		w.Configure(gemini, Limit{TokensPerDay: 1000})
		if _, spent := w.TokensSpent(gemini); spent {
			t.Error("another provider of the same name has the same tokens")
		}
	})
}
