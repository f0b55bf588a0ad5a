// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

const shardTests = "internal/shardlease"

var leaseMutations = []mutation{
	{
		breaks: "a Lease is taken though one of another number of shards is held",
		file:   "internal/shard/share.go",
		old:    `return v.Rival == "" && free &&`,
		now:    "return free &&",
		tests:  []string{"TestNobodyActsWhileOthersHoldAnotherNumberOfShards", "TestReplicasComeToAnEvenSpread"},
	},
	{
		breaks: "who has taken a Lease acts without looking for others",
		file:   "internal/shardlease/lock.go",
		old:    "if taken || created || asked.Sub(renewed) >= RenewDeadline {",
		now:    "if !taken && (created || asked.Sub(renewed) >= RenewDeadline) {",
		tests:  []string{"TestWhoHasTakenALeaseLooksBeforeItActs"},
	},
	{
		breaks: "who makes a Lease anew that somebody has deleted does not look for others",
		file:   "internal/shardlease/lock.go",
		old:    "l.written(ctx, asked, true,",
		now:    "l.written(ctx, asked, false,",
		tests:  []string{"TestWhoMakesItsLeaseAnewLooksForOthers"},
	},
	{
		breaks: "who renews a Lease too late does not look for others",
		file:   "internal/shardlease/lock.go",
		old:    "created || asked.Sub(renewed) >= RenewDeadline {",
		now:    "created {",
		tests:  []string{"TestWhoRenewsItsLeaseTooLateLooksForOthers"},
	},
	{
		breaks: "whose Lease another one holds works on",
		file:   "internal/shardlease/lock.go",
		old:    `l.lose("another replica holds it: " + record.HolderIdentity)`,
		now:    "_ = record",
		tests:  []string{"TestWhoseLeaseSomebodyElseHoldsEnds"},
	},
	{
		breaks: "a process does not end before its Leases run out",
		file:   "internal/shardlease/holder.go",
		old:    "late > RenewDeadline+RetryPeriod {",
		now:    "late > 10*Duration {",
		tests:  []string{"TestWhoCannotRenewItsLeasesEnds"},
	},
	{
		breaks: "a Lease is given back before what is under way has been finished",
		file:   "internal/shardlease/lock.go",
		old:    "		l.givenUp = true\n		l.stop()",
		now:    "		l.givenUp = true\n		go l.giveBack(context.Background())\n		l.stop()",
		tests:  []string{"TestAShardIsFinishedBeforeItIsGivenUp"},
	},
	{
		breaks: "who was slower takes the Lease of who was quicker",
		file:   "internal/shardlease/lock.go",
		old:    "case string(raw) != version:",
		now:    "case false:",
		tests:  []string{"TestWhoIsSlowerLeavesALeaseAlone"},
	},
	{
		breaks: "a Lease that is not renewed never runs out",
		file:   "internal/shard/board.go",
		old:    `return s.Holder != "" && now.Before(s.since.Add(s.Duration))`,
		now:    `return s.Holder != ""`,
		tests:  []string{"TestALeaseRunsOutWhenNobodyRenewsIt"},
	},
	{
		breaks: "a Lease runs out though it is renewed",
		file:   "internal/shard/board.go",
		old:    "if known && before.Version == lease.Version {",
		now:    "if known && before.Holder == lease.Holder {",
		tests:  []string{"TestALeaseRunsOutWhenNobodyRenewsIt", "TestReplicasComeToAnEvenSpread"},
	},
	{
		breaks: "a Lease that somebody has deleted is free at once",
		file:   "internal/shard/board.go",
		old:    "there || !before.held(now) {",
		now:    "true || there {",
		in:     shardTests,
		tests:  []string{"TestLeasesThatSomebodyDeletesAreMadeAnew"},
	},
	{
		breaks: "who has taken a Lease without hearing of it waits for itself",
		file:   "internal/shard/share.go",
		old:    `free := v.Holders[shard] == "" || v.Holders[shard] == me`,
		now:    `free := v.Holders[shard] == ""`,
		in:     shardTests,
		tests:  []string{"TestWhoseAnswerIsLostTakesItsLeaseAgain"},
	},
	{
		breaks: "who has more shards does not give way to a version that knows none",
		file:   "internal/shardlease/holder.go",
		old:    "case now.Sub(h.rivalry) >= rivalsMeet:",
		now:    "case false:",
		tests:  []string{"TestMoreShardsGiveWayToAVersionThatKnowsNone"},
	},
	{
		breaks: "the shard of a namespace follows from another number",
		file:   "internal/shard/shard.go",
		old:    "% uint64(count)",
		now:    "% uint64(count-1)",
		tests:  []string{"TestTheShardOfANamespaceNeverChanges"},
	},
	{
		breaks: "a shard hears of what is in the namespaces of others",
		file:   "internal/shardcache/view.go",
		old:    "return err == nil && v.owns(found.GetNamespace())",
		now:    "return err == nil && found != nil",
		tests:  []string{"TestOnlyTheNamespacesOfAShardAreHeardUntilItIsGivenUp"},
	},
	{
		breaks: "a shard lists what is in the namespaces of others",
		file:   "internal/shardcache/view.go",
		old:    "if owns(found.GetNamespace()) {",
		now:    "if found != nil {",
		tests:  []string{"TestOnlyTheNamespacesOfAShardAreListed"},
	},
}
