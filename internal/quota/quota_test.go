// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	someDay = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	midday  = someDay.Add(12 * time.Hour)
)

// R3.9
func TestATokenBudget(t *testing.T) {
	t.Parallel()
	type says struct {
		Allows, Spent bool
		Further       int64
	}
	today := func(used, reserved int64) Tokens { return Tokens{someDay, used, reserved} }
	for name, test := range map[string]struct {
		budget   Budget
		at       time.Time // midday
		inFlight int
		want     says
	}{
		"no limit allows everything":                {budget: Budget{Tokens: today(1e9, 0)}, inFlight: 9, want: says{Allows: true}},
		"the first call of a day waits for a block": {budget: Budget{PerDay: 1_000_000}, want: says{Further: 50_000}},
		"what is reserved may be spent":             {budget: Budget{PerDay: 1_000_000, Tokens: today(40_000, 50_000)}, want: says{Allows: true}},
		"not more than that":                        {budget: Budget{PerDay: 1_000_000, Tokens: today(46_001, 50_000)}, want: says{Further: 100_000}},
		"calls under way have their share":          {budget: Budget{PerDay: 1_000_000, Tokens: today(40_000, 50_000)}, inFlight: 2, want: says{Further: 100_000}},
		"a call is as large as the largest":         {budget: Budget{PerDay: 1_000_000, largest: 10_001, Tokens: today(40_000, 50_000)}, want: says{Further: 100_000}},
		"a block holds one call at least":           {budget: Budget{PerDay: 1_000_000, largest: 70_000}, want: says{Further: 70_000}},
		"the last block is what is left":            {budget: Budget{PerDay: 1_000_000, Tokens: today(980_000, 980_000)}, want: says{Further: 1_000_000}},
		"the last call":                             {budget: Budget{PerDay: 1_000_000, Tokens: today(996_000, 1_000_000)}, want: says{Allows: true}},
		"too little is left for a call":             {budget: Budget{PerDay: 1_000_000, Tokens: today(996_001, 1_000_000)}, want: says{Spent: true}},
		"nobody knows while calls are under way":    {budget: Budget{PerDay: 1_000_000, Tokens: today(995_000, 1_000_000)}, inFlight: 1, want: says{}},
		"a call that is larger than a day is made":  {budget: Budget{PerDay: 100, largest: 5000}, want: says{Further: 100}},
		"once":                 {budget: Budget{PerDay: 100, largest: 5000, Tokens: today(1, 100)}, want: says{Spent: true}},
		"a limit of one token": {budget: Budget{PerDay: 1}, want: says{Further: 1}},
		"a limit that was lowered below what is used":      {budget: Budget{PerDay: 1000, Tokens: today(2000, 50_000)}, want: says{Spent: true}},
		"a limit that was lowered below what is reserved":  {budget: Budget{PerDay: 1000, largest: 100, Tokens: today(200, 50_000)}, want: says{Allows: true}},
		"the last moment of the day":                       {budget: Budget{PerDay: 100, Tokens: today(100, 100)}, at: someDay.Add(24*time.Hour - 1), want: says{Spent: true}},
		"the next day counts anew":                         {budget: Budget{PerDay: 100, Tokens: today(100, 100)}, at: someDay.Add(24 * time.Hour), want: says{Further: 5}},
		"a clock that goes back over midnight":             {budget: Budget{PerDay: 100, Tokens: today(100, 100)}, at: someDay.Add(-1), want: says{Spent: true}},
		"a clock that was years ahead ends with today":     {budget: Budget{PerDay: 100, Tokens: Tokens{someDay.AddDate(5, 0, 0), 100, 100}}, want: says{Spent: true}},
		"a clock in a zone of its own has the same day":    {budget: Budget{PerDay: 100, Tokens: today(100, 100)}, at: midday.In(time.FixedZone("", 14*3600)), want: says{Spent: true}},
		"numbers as large as can be":                       {budget: Budget{PerDay: mostTokens, largest: mostTokens, Tokens: today(mostTokens, mostTokens)}, want: says{Spent: true}},
		"as large as can be, with calls under way as well": {budget: Budget{PerDay: mostTokens, largest: mostTokens, Tokens: today(mostTokens, mostTokens)}, inFlight: 1000, want: says{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, at := test.budget, test.at
			for range test.inFlight {
				b.Begin()
			}
			if at.IsZero() {
				at = midday
			}
			var got says
			got.Allows, got.Spent = b.Allows(at), b.Spent(at)
			got.Further, _ = b.Further(at)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if ends := b.Ends(); got.Spent && (!ends.After(at) || ends.Sub(at) > 48*time.Hour) {
				t.Errorf("it ends at %s, seen at %s", ends, at)
			}
		})
	}
}

// R3.5, R3.9: whatever stands on a status, what may have been spent is not spent again.
func TestTokensThatAreRestored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		held Tokens
		want Tokens // at midday
	}{
		"all that was reserved is used":   {Tokens{someDay, 10, 50}, Tokens{someDay, 50, 50}},
		"more was used than was reserved": {Tokens{someDay, 60, 50}, Tokens{someDay, 60, 60}},
		"of yesterday":                    {Tokens{someDay.Add(-day), 10, 50}, Tokens{Day: someDay}},
		"of tomorrow":                     {Tokens{someDay.Add(day), 10, 50}, Tokens{someDay.Add(day), 50, 50}},
		"of next year":                    {Tokens{someDay.AddDate(1, 0, 0), 10, 50}, Tokens{someDay, 50, 50}},
		"of no day":                       {Tokens{Used: 10, Reserved: 50}, Tokens{Day: someDay}},
		"negative":                        {Tokens{someDay, -10, -50}, Tokens{someDay, 0, 0}},
		"as much as can be written":       {Tokens{someDay, math.MaxInt64, math.MaxInt64}, Tokens{someDay, mostTokens, mostTokens}},
		"less than nothing":               {Tokens{someDay, math.MinInt64, math.MinInt64}, Tokens{someDay, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := Budget{PerDay: 1000}
			b.Restore(test.held)
			b.on(midday)
			if diff := cmp.Diff(test.want, b.Tokens); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// R3.9: calls of any size, one or many at a time, crashes and restarts: what was spent in a day is at
// most the limit and what the calls under way cost more than was thought; nothing is spent that was
// not reserved before; and it is written a few times a day, and not for each call.
func TestATokenBudgetIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perDay := rapid.Int64Range(1, 2_000_000).Draw(t, "per day")
		b := Budget{PerDay: perDay}
		var written Tokens
		type call struct{ cost, thought int64 }
		var underWay []call
		var spent, beyond int64
		blocks := 0
		pay := func(ended call) {
			spent += ended.cost
			beyond += max(ended.cost-ended.thought, 0)
		}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2, 3, 4: // a call begins
				if !b.Allows(midday) {
					reserved, needed := b.Further(midday)
					if !needed {
						continue
					}
					if reserved > perDay || reserved <= b.Reserved {
						t.Fatalf("reserved %d after %d, of %d", reserved, b.Reserved, perDay)
					}
					written = Tokens{someDay, b.Used, reserved}
					b.Reserve(midday, written)
					blocks++
				}
				if !b.Allows(midday) {
					t.Fatalf("a block was no help: %+v with %d under way", b, len(underWay))
				}
				cost := rapid.Int64Range(1, 20_000).Draw(t, "cost")
				underWay = append(underWay, call{cost, b.Begin()})
			case 5, 6, 7, 8: // a call ends
				if len(underWay) == 0 {
					continue
				}
				pay(underWay[0])
				b.Use(midday, underWay[0].cost)
				b.End(underWay[0].thought)
				underWay = underWay[1:]
			case 9: // a crash
				if rapid.IntRange(0, 20).Draw(t, "crash") > 0 {
					continue
				}
				for _, ended := range underWay { // they are paid for, though nobody counts them
					pay(ended)
				}
				underWay = nil
				b = Budget{PerDay: perDay}
				b.Restore(written)
			}
			if spent > perDay+beyond {
				t.Fatalf("%d spent of %d, of which %d could not be foreseen", spent, perDay, beyond)
			}
		}
		if blocks > blocksPerDay {
			t.Fatalf("%d writes for %d tokens", blocks, perDay)
		}
	})
}

// R3.9: a count that is absurd costs what is left of its day, and not the days after it.
func TestAnAbsurdCountIsForgottenSoon(t *testing.T) {
	t.Parallel()
	const perDay, usual = 1_000_000, 2000
	for name, absurdly := range map[string]func(b *Budget, now time.Time){
		"while there is a limit":  func(b *Budget, now time.Time) { b.Use(now, 1e9) },
		"before there is a limit": func(b *Budget, now time.Time) { b.SetLimit(0); b.Use(now, 1e9); b.SetLimit(perDay) },
	} {
		now, b := midday, &Budget{}
		b.SetLimit(perDay)
		absurdly(b, now)
		if !b.Spent(now) {
			t.Errorf("%s: it was not counted", name)
		}
		now = now.Add(24 * time.Hour)
		for n := range 10 {
			if further, needed := b.Further(now); needed {
				b.Reserve(now, Tokens{Day: b.Day, Reserved: further})
			}
			if !b.Allows(now) {
				t.Errorf("%s: on the next day there are %d calls", name, n)
				break
			}
			b.End(b.Begin())
			b.Use(now, usual)
		}
	}
}

// R3.9: what a call has cost is known when the limit is changed, also where that was below it: the calls that begin then are no more than fit.
func TestALimitBelowOneCallForgetsNotWhatItCosts(t *testing.T) {
	t.Parallel()
	const cost = 2000
	b := &Budget{}
	b.SetLimit(1)
	b.Use(midday, cost)
	b.SetLimit(2*cost + cost/2)
	began := 0
	for ; began < 10; began++ {
		if further, needed := b.Further(midday); needed {
			b.Reserve(midday, Tokens{Day: b.Day, Reserved: further})
		}
		if !b.Allows(midday) {
			break
		}
		b.Begin()
	}
	if began != 1 {
		t.Errorf("%d calls began at once where there is room for one", began)
	}
}
