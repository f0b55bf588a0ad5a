// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var eventMutations = []mutation{
	{
		breaks: "a destination gets the events of all namespaces",
		file:   "controllers/eventing/hear.go",
		old:    ", client.InNamespace(entry.Namespace)",
		now:    "",
		in:     "controllers",
		tests:  []string{"TestTheLifeOfAnItemLeavesAsEvents"},
	},
	{
		breaks: "a destination gets events of which it does not want the status",
		file:   "controllers/eventing/hear.go",
		old:    "|| !wanted.Wants(entry.Status) ",
		now:    "",
		in:     "controllers",
		tests:  []string{"TestTheLifeOfAnItemLeavesAsEvents"},
	},
	{
		breaks: "where all is full, who has the least loses events",
		file:   "internal/eventstream/outbox.go",
		old:    "(most == nil || whose.bytes > most.bytes)",
		now:    "(most == nil || whose.bytes < most.bytes)",
		in:     "internal/eventstream",
		tests:  []string{"TestATenantLosesNothingToOthers"},
	},
	{
		breaks: "what waits for one destination is not bounded",
		file:   "internal/eventstream/outbox.go",
		old:    "for b.bytes > o.each && len(b.waiting) > 0 {",
		now:    "for false {",
		in:     "internal/eventstream",
		tests:  []string{"TestTheOldestEventsAreDropped"},
	},
	{
		breaks: "an event is lost when credentials are refused",
		file:   "controllers/eventing/send.go",
		old:    "r.Outbox.PutBack(to, of) // the event has nothing to do with it",
		now:    "r.Outbox.Refused(to, of)",
		in:     "controllers",
		tests:  []string{"TestEventsWaitForCredentialsThatAreTaken"},
	},
	{
		breaks: "one event that always fails holds up all others",
		file:   "internal/eventstream/outbox.go",
		old:    "if b.underWay.calls < MaxCalls {",
		now:    "if b.underWay.calls < 100*MaxCalls {",
		in:     "internal/eventstream",
		tests:  []string{"TestAnEventIsNotTriedForever"},
	},
	{
		breaks: "a destination of events takes posts",
		file:   "internal/posting/line.go",
		old:    "if err == nil && described != nil && described.Events() != nil {",
		now:    "if err == nil && described == nil {",
		in:     "controllers",
		tests:  []string{"TestADestinationOfEventsGetsNoPosts"},
	},
}
