// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var tallyMutations = []mutation{
	{
		breaks: "failed attempts of a delivery are not counted",
		file:   "internal/lifecycle/delivery.go",
		old:    "row.FailedAttempts = addBounded(row.FailedAttempts, 1)",
		now:    "row.FailedAttempts = addBounded(row.FailedAttempts, 0)",
		tests:  []string{"TestADeliveryThatAlwaysFailsEndsAfterTenRetries"},
	},
	{
		breaks: "failed attempts of a notification are not counted",
		file:   "internal/lifecycle/notification.go",
		old:    "row.FailedAttempts < math.MaxInt32",
		now:    "row.FailedAttempts < math.MinInt32",
		tests:  []string{"TestANotificationIsGivenUp"},
	},
	{
		breaks: "a delivery is tried for ever",
		file:   "internal/lifecycle/deliveries.go",
		old:    "return int(row.FailedAttempts) > p.MaxRetries ||",
		now:    "return false ||",
		tests:  []string{"TestADeliveryThatAlwaysFailsEndsAfterTenRetries"},
	},
	{
		breaks: "a post is looked for for ever",
		file:   "internal/lifecycle/deliveries.go",
		old:    "return int(row.FailedAttempts) > p.MaxRetries+looks",
		now:    "return false",
		tests:  []string{"TestLookingForAPostEndsAtTheLimit"},
	},
	{
		breaks: "a first poll has settled before its items are seen",
		file:   "internal/itemcache/tally.go",
		old:    "return tallied.seen >= seen && ",
		now:    "return ",
		tests:  []string{"TestATallyIsTheCountOfTheItemsThatThereAre"},
	},
	{
		breaks: "items that go stay counted",
		file:   "internal/itemcache/tally.go",
		old:    "t.add(from, -1, false)",
		now:    "_ = from",
		tests:  []string{"TestATallyIsTheCountOfTheItemsThatThereAre"},
	},
	{
		breaks: "an item that changes is another one that was seen",
		file:   "internal/itemcache/tally.go",
		old:    "t.add(to, 1, isNew)",
		now:    "t.add(to, 1, isNew || true)",
		tests:  []string{"TestATallyIsTheCountOfTheItemsThatThereAre"},
	},
	{
		breaks: "what is being written of a service is another tally each time",
		file:   "internal/services/services.go",
		old:    "if found.writing.empty() && !found.tally.empty() {",
		now:    "if !found.tally.empty() {",
		tests:  []string{"TestWhatIsCountedIsWrittenOnce"},
	},
	{
		breaks: "what was written of a service is counted again",
		file:   "internal/services/tally.go",
		old:    "t.token == \"\" || t.token == status.CountsToken {",
		now:    "t.token == \"\" {",
		tests:  []string{"TestWhatIsCountedIsWrittenOnce"},
	},
	{
		breaks: "what has come while a tally was written is forgotten",
		file:   "internal/services/services.go",
		old: `		write = s.toWrite(id, found, found.paced)
`,
		now:   "",
		tests: []string{"TestWhatIsCountedIsWrittenOnce"},
	},
	{
		breaks: "what ends while the operator stops is not counted",
		file:   "internal/services/services.go",
		old: `	s.last = last
`,
		now:   "",
		tests: []string{"TestWhatIsCountedIsWrittenOnce"},
	},
	{
		breaks: "what another operator has counted on a source is overwritten",
		file:   "controllers/feedsource/totals.go",
		old:    "	c.learn(status)",
		now:    "	_ = status",
		tests:  []string{"TestWhatASourceHasComeToIsCountedOnce"},
	},
	{
		breaks: "what is known of a source is added to what its status says of the same",
		file:   "controllers/feedsource/totals.go",
		old:    "max(c.gone.succeeded, said.succeeded)",
		now:    "c.gone.succeeded + said.succeeded",
		tests:  []string{"TestWhatASourceHasComeToIsCountedOnce"},
	},
	{
		breaks: "what a source was said to have come to when a process begins is forgotten",
		file:   "controllers/feedsource/watch.go",
		old:    "known.counters.learn(&source.Status)",
		now:    "known.counters.learn(&v1alpha1.FeedSourceStatus{})",
		in:     "controllers",
		tests:  []string{"TestRemovedItemsAreCountedOnceThoughTheAnswerToTheReportIsLost"},
	},
	{
		breaks: "items that are removed before the operator stops are not counted",
		file:   "controllers/feedsource/totals.go",
		old:    "source.UID != watch.uid || !watch.counters.unwritten(&source.Status) {",
		now:    "source.UID != watch.uid || true {",
		in:     "controllers",
		tests:  []string{"TestWhatIsRemovedBeforeAStopIsCounted"},
	},
	{
		breaks: "what was counted is not written when the operator stops",
		file:   "controllers/service/flush.go",
		old: `{ l.write(ctx, id) }) {
		l.write(ctx, id)`,
		now: `{ l.write(ctx, id) }) {
		_ = id`,
		in:    "controllers",
		tests: []string{"TestADestinationCountsThePostsThatStand"},
	},
	{
		breaks: "a post whose result was written though its answer was lost is not counted",
		file:   "internal/delivery/result.go",
		old: `		d.engine.noteTaken(d.before, there, d.post, &d.outcome, d.at)
`,
		now:   "",
		in:    "controllers",
		tests: []string{"TestAPostIsCountedThoughTheAnswerToItsResultIsLost"},
	},
	{
		breaks: "a post that was found is not counted where the answer to that was lost",
		file:   "internal/delivery/claim.go",
		old: `		e.noteTaken(before, item, p, p.decided, decidedAt)
`,
		now:   "",
		in:    "controllers",
		tests: []string{"TestAPostThatWasFoundIsCountedThoughTheAnswerToThatIsLost"},
	},
	{
		breaks: "what two write of a service at once is counted twice",
		file:   "internal/services/tally.go",
		old:    "addedByAnother := !t.open(); addedByAnother {",
		now:    "addedByAnother := false; addedByAnother {",
		tests:  []string{"TestWhatIsCountedIsWrittenOnceByTwo"},
	},
	{
		breaks: "a post that another operator has written down is counted again",
		file:   "internal/delivery/result.go",
		old:    "row.Time.Unix() != at.Unix() {",
		now:    "false {",
		in:     "controllers",
		tests:  []string{"TestAPostThatAnotherOperatorHasFoundIsCountedOnce"},
	},
	{
		breaks: "what a call learns of a peer is lost when its service was changed meanwhile",
		file:   "internal/services/services.go",
		old:    "if !slices.Contains(found.samePeer, revision) {\n		return false",
		now:    "if found.revision != revision {\n		return false",
		tests:  []string{"TestAPauseThatWasAskedForOutlastsAChange"},
	},
	{
		breaks: "what a call learns of one peer is held against the next",
		file:   "internal/services/services.go",
		old:    "found.savedAvailability, found.samePeer = schedule.Availability{}, nil",
		now:    "found.savedAvailability = schedule.Availability{}",
		tests:  []string{"TestAPauseThatWasAskedForOutlastsAChange"},
	},
	{
		breaks: "a pause that is asked for while nobody may call is forgotten",
		file:   "internal/services/services.go",
		old:    "found.savedAvailability = found.savedAvailability.Failed(s.clock.Now(), failed)",
		now:    "_ = failed",
		tests:  []string{"TestAPauseThatWasAskedForOutlastsAChange"},
	},
	{
		breaks: "an object begins with what was known of another one of its name",
		file:   "internal/services/services.go",
		old:    "seen && found.uid != object.GetUID()",
		now:    "seen && found.uid == \"\"",
		tests:  []string{"TestAnObjectBeginsWithNothingOfTheOneBefore"},
	},
}
