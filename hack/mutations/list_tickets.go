// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var ticketMutations = []mutation{
	{
		breaks: "the ticket of one provider is used for another",
		file:   "internal/attempt/tickets.go",
		old:    "if ticket == nil || !slices.ContainsFunc(usable, func(next link) bool { return next.resource == ticket.Resource() }) {",
		now:    "if ticket == nil {",
		tests:  []string{"TestATicketIsForItsOwnProvider"},
	},
	{
		breaks: "a ticket is used twice",
		file:   "internal/attempt/tickets.go",
		old:    "	t.provider = nil\n	return ticket",
		now:    "	return ticket",
		tests:  []string{"TestATicketIsForItsOwnProvider"},
	},
	{
		breaks: "work that goes on after its turn gives no place back",
		file:   "internal/posting/line.go",
		old:    "l.Place.Done()",
		now:    "_ = l.Place",
		tests:  []string{"TestWhatIsHandedOverIsGivenBackOnce"},
	},
	{
		breaks: "a ticket that was not used is not given back",
		file:   "internal/posting/line.go",
		old:    "l.Ticket.Cancel()",
		now:    "_ = l.Ticket",
		tests:  []string{"TestWhatIsHandedOverIsGivenBackOnce"},
	},
	{
		breaks: "what is handed over is given back by both",
		file:   "internal/posting/line.go",
		old:    "	l.Place, l.Ticket = nil, nil\n",
		now:    "",
		tests:  []string{"TestWhatIsHandedOverIsGivenBackOnce"},
	},
	{
		breaks: "a ticket that is handed over ends with the turn",
		file:   "internal/posting/line.go",
		old:    "turn.Detach(l.Ticket)",
		now:    "_ = turn",
		tests:  []string{"TestWhatIsHandedOverIsGivenBackOnce"},
	},
	{
		breaks: "a place that is kept ends with the turn",
		file:   "internal/posting/line.go",
		old:    "turn.Detach(l.Place)",
		now:    "_ = turn",
		tests:  []string{"TestWhatIsHandedOverIsGivenBackOnce"},
	},
	{
		breaks: "what a turn was reserved and did not take is lost",
		file:   "internal/schedule/turn.go",
		old:    "ticket.close(false)\n		}\n		for",
		now:    "_ = ticket\n		}\n		for",
		tests:  []string{"TestScheduleHoldsItsPromises"},
	},
	{
		breaks: "what a turn holds is not given back when it ends",
		file:   "internal/schedule/turn.go",
		old:    "for _, ticket := range t.held {\n			ticket.close(true)",
		now:    "for _, ticket := range t.held {\n			_ = ticket",
		tests:  []string{"TestScheduleHoldsItsPromises", "TestTurn"},
	},
	{
		breaks: "a post that was due and does not begin keeps its place",
		file:   "internal/delivery/engine.go",
		old:    "	defer cancelUnused(due)\n",
		now:    "",
		tests:  []string{"TestPostsThatDoNotBeginGiveBackWhatTheyHave"},
	},
	{
		breaks: "a post that was made keeps its place",
		file:   "internal/posting/work.go",
		old:    "			handed.GiveBack()\n",
		now:    "",
		tests:  []string{"TestOneThingIsDoneAtATimeForAnItemAndADestination"},
	},
	{
		breaks: "a post that was to be made with the summary, and does not begin, keeps its place",
		file:   "internal/delivery/engine.go",
		old:    "	defer func() { cancelUnused(ready) }()\n",
		now:    "",
		tests:  []string{"TestPostsThatDoNotBeginGiveBackWhatTheyHave"},
	},
	{
		breaks: "a post that was made is under way for ever",
		file:   "internal/posting/work.go",
		old:    "			w.underWay.Delete(key)\n",
		now:    "",
		tests:  []string{"TestOneThingIsDoneAtATimeForAnItemAndADestination"},
	},
	{
		breaks: "the right to a call that comes too late is kept",
		file:   "internal/delivery/post.go",
		old:    "		p.GiveBack()\n",
		now:    "",
		tests:  []string{"TestNothingIsPostedAfterTheEndOfItsIntent"},
	},
	{
		breaks: "a page that hangs keeps the right to call its provider",
		file:   "internal/attempt/tickets.go",
		old:    "if !read && t.provider != nil {",
		now:    "if !read && false {",
		tests:  []string{"TestAProviderIsGivenBackUnused"},
	},
	{
		breaks: "an attempt that calls nobody keeps the right to",
		file:   "internal/attempt/tickets.go",
		old:    "	if t.provider != nil {",
		now:    "	if t.provider == nil {",
		tests:  []string{"TestAProviderIsGivenBackUnused"},
	},
}
