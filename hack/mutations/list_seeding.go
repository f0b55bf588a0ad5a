// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var seedingMutations = []mutation{
	{
		breaks: "who comes to wait for what was closed meanwhile is not woken for that",
		file:   "internal/schedule/grant.go",
		old:    "		s.tell(q, r)\n",
		now:    "",
		tests:  []string{"TestWhoWaitsHearsTheNews"},
	},
	{
		breaks: "what was forgotten has told nothing to who waits for it then",
		file:   "internal/schedule/schedule.go",
		old:    "known: known, news: s.told}",
		now:    "known: known}",
		tests:  []string{"TestWhoWaitsHearsTheNews"},
	},
	{
		breaks: "who comes first is let through before the schedule opens",
		file:   "internal/schedule/grant.go",
		old:    "if s.open && (inFront",
		now:    "if true && (inFront",
		tests:  []string{"TestOpenGrantsInExactOrder"},
	},
	{
		breaks: "when a provider goes down, those go on first who happen to be listed first",
		file:   "internal/schedule/grant.go",
		old:    "slices.SortFunc(requests, (*request).compare)",
		now:    "slices.Reverse(requests)",
		tests:  []string{"TestWhoWaitsGoesOnWhenTheResourceGoesDown"},
	},
	{
		breaks: "when the schedule opens, what is shared is given by age alone",
		file:   "internal/schedule/schedule.go",
		old:    "		for _, r := range s.resources {\n			s.touch(r)\n		}\n",
		now: `		var requests []*request
		for _, w := range s.waiters {
			requests = append(requests, w.requests...)
		}
		s.reconsider(requests, s.clock.Now())
`,
		tests: []string{"TestTheScheduleOpensByTurns"},
	},
	{
		breaks: "items are read before it is known who goes first",
		file:   "controllers/feeditem/reconciler.go",
		old:    "	case <-r.Schedule.Opened(): // who goes first is known then",
		now:    "	default:",
		tests:  []string{"TestNoItemIsReadBeforeItIsKnownWhoGoesFirst"},
	},
	{
		breaks: "nobody is in line when the schedule opens",
		file:   "controllers/feeditem/seed.go",
		old:    "for i := range items {",
		now:    "for i := range items[:0] {",
		tests:  []string{"TestAStartLetsTheOldestThroughFirst"},
	},
	{
		breaks: "posts are not in line when the schedule opens",
		file:   "controllers/feeditem/seed.go",
		old:    "		r.Deliveries.StandInAllLines(ctx, turn, item)\n",
		now:    "",
		tests:  []string{"TestAStartLetsTheOldestThroughFirst"},
	},
	{
		breaks: "items are not in line for their providers when the schedule opens",
		file:   "controllers/feeditem/seed.go",
		old:    "return r.Attempts.QueueForProviders(ctx, turn, item, source)",
		now:    "return nil",
		tests:  []string{"TestAStartLetsTheOldestThroughFirst"},
	},
	{
		breaks: "the items of a suspended source are in line",
		file:   "controllers/feeditem/seed.go",
		old:    " || source.Spec.Suspend {",
		now:    " {",
		tests:  []string{"TestAStartLetsTheOldestThroughFirst"},
	},
	{
		breaks: "the schedule opens before anybody is in line",
		file:   "controllers/feeditem/seed.go",
		old:    "	r := s.Reconciler\n	items, err",
		now:    "	r := s.Reconciler\n	r.Schedule.Open()\n	items, err",
		tests:  []string{"TestAStartLetsTheOldestThroughFirst"},
	},
	{
		breaks: "a post goes by its name before it goes by its age",
		file:   "internal/delivery/engine.go",
		old:    "Time: item.Published().Time, Name",
		now:    "Time: time.Time{}, Name",
		in:     "controllers/feeditem",
		tests:  []string{"TestAStartLetsTheOldestThroughFirst"},
	},
	{
		breaks: "an item goes by its name before it goes by its age",
		file:   "internal/attempt/turns.go",
		old:    "queue.ClassPending, item.Published().Time",
		now:    "queue.ClassPending, time.Time{}",
		in:     "controllers/feeditem",
		tests:  []string{"TestAStartLetsTheOldestThroughFirst"},
	},
	{
		breaks: "after a start posts wait in no line, but for who is looked at first",
		file:   "internal/delivery/engine.go",
		old:    "for i := range view.Status.Deliveries {",
		now:    "for i := range view.Status.Deliveries[:0] {",
		in:     "controllers",
		tests:  []string{"TestAfterAStartTheOldestIsPostedFirstWhoeverIsLookedAtFirst"},
	},
}
