// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var heldMutations = []mutation{
	{
		breaks: "what is kept of a namespace has no bound",
		file:   "internal/results/kept.go",
		old:    "return k.held[namespace]+largestResult > maxKeptBytes-k.bytes-largestResult",
		now:    "return false",
		tests:  []string{"TestWhatIsKeptIsBoundedForEachNamespace"},
	},
	{
		breaks: "a result that takes the place of another is counted beside it",
		file:   "internal/results/kept.go",
		old:    "		k.add(name.Namespace, -known.bytes)\n		return true",
		now:    "		return true",
		tests:  []string{"TestWhatIsKeptIsBoundedForEachNamespace"},
	},
	{
		breaks: "a result is lost to who was faster",
		file:   "internal/record/record.go",
		old:    "if apierrors.IsConflict(last) {",
		now:    "if false {",
		tests:  []string{"TestAClaimIsLostWhereAResultIsNot"},
	},
	{
		breaks: "a result is written once",
		file:   "internal/record/record.go",
		old:    "case !errors.As(err, &answer), apierrors.IsConflict(err),",
		now:    "case !errors.As(err, &answer) && false, apierrors.IsConflict(err),",
		tests:  []string{"TestAResultIsWrittenAgain"},
	},
	{
		breaks: "a result that is wrong is written again",
		file:   "internal/record/record.go",
		old:    "apierrors.IsTooManyRequests(err), apierrors",
		now:    "apierrors.IsInvalid(err), apierrors.IsTooManyRequests(err), apierrors",
		tests:  []string{"TestAResultIsWrittenAgain"},
	},
	{
		breaks: "a stop ends the writing of a result",
		file:   "internal/record/record.go",
		old:    "ctx = context.WithoutCancel(ctx)",
		now:    "_ = ctx",
		tests:  []string{"TestAStopDoesNotEndAWrite"},
	},
	{
		breaks: "a result that is refused is not kept",
		file:   "internal/results/kept.go",
		old:    "	r.Kept.keep(item, known)\n",
		now:    "",
		tests:  []string{"TestWhatIsNotTakenIsKept"},
	},
	{
		breaks: "a result is written on another item of the same name",
		file:   "internal/results/kept.go",
		old:    "err == nil && live.UID != uid:",
		now:    `err == nil && live.UID == "":`,
		tests:  []string{"TestWhatIsNotTakenIsKept"},
	},
	{
		breaks: "a result that was taken stays kept",
		file:   "internal/results/kept.go",
		old:    "		r.Kept.done(name, known)\n",
		now:    "		return nil\n",
		tests:  []string{"TestWhatIsNotTakenIsKept"},
	},
	{
		breaks: "what is kept is not written when the operator ends",
		file:   "internal/results/kept.go",
		old:    "record.Last(ctx, r.Kept.names(),",
		now:    "record.Last(ctx, r.Kept.names()[:0],",
		tests:  []string{"TestWhatIsKeptIsWrittenLast"},
	},
	{
		breaks: "what is kept announces posts",
		file:   "internal/results/results.go",
		old:    "	a.outcome.Intents = nil\n",
		now:    "",
		tests:  []string{"TestWhatIsKeptAnnouncesNoPost"},
	},
	{
		breaks: "an item whose result is refused for good is worked on for ever",
		file:   "internal/results/results.go",
		old:    "if err != nil && neverTaken(err) {",
		now:    "if err != nil && neverTaken(err) && false {",
		in:     "controllers",
		tests:  []string{"TestAResultThatIsRefusedEndsTheItem"},
	},
	{
		breaks: "work begins though nothing can be written down",
		file:   "controllers/feeditem/held.go",
		old:    "if !held {",
		now:    "if !held || true {",
		in:     "controllers",
		tests:  []string{"TestNoPageIsReadWhileNoWritesAreTaken"},
	},
}
