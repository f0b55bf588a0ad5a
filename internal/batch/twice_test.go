// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batch"
)

// R3.14, R4.4: an outcome is written again where the API server's answer was lost, which may have taken it. It counts once.
func TestAnOutcomeThatIsWrittenTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	later := began.Add(time.Second)
	for name, outcome := range map[string]batch.Outcome{
		"it may have arrived": {Failure: failed(v1alpha1.CategoryNetwork, 0), Uncertain: true, Repeated: 1},
		"it has failed":       {Failure: failed(v1alpha1.CategoryAPI, 503)},
		"it is refused":       {Failure: failed(v1alpha1.CategoryValidation, 400)},
		"nothing counts":      {Again: true},
		"nothing counts after a request that may have arrived": {Again: true, Repeated: 1},
	} {
		b := announced(4)
		outcome.NotAfter = b.NotAfter
		if !batch.Settle(&b, outcome, policy, true, later) {
			t.Errorf("%s: it does not belong", name)
		}
		once := *b.DeepCopy()
		if batch.Settle(&b, outcome, policy, true, later) {
			t.Errorf("%s: it counts twice: %s", name, cmp.Diff(once, b))
		}
	}
}

// R3.8, R4.4: the credentials are refused after a request of which nobody knows whether it has arrived. What it held is left to a person, and what is
// left of the batch ends as refused, too.
func TestCredentialsThatAreRefusedAfterARequestThatMayHaveArrivedEndTheRest(t *testing.T) {
	t.Parallel()
	b := announced(4)
	batch.Settle(&b, batch.Outcome{NotAfter: b.NotAfter, Failure: failed(v1alpha1.CategoryValidation, 400)}, policy, true, began)
	batch.Intend(&b, timeout, began)
	batch.Intend(&b, timeout, began.Add(time.Minute))
	batch.Settle(&b, batch.Outcome{NotAfter: b.NotAfter, Failure: failed(v1alpha1.CategoryAuth, 401)}, policy, true, began.Add(time.Minute))
	want := map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberUncertain: 2, v1alpha1.BatchMemberRejected: 2}
	if diff := cmp.Diff(want, states(&b)); diff != "" || batch.Open(&b) {
		t.Errorf("%s; parts %v", diff, b.Parts)
	}
	if last := b.Members[3]; last.Failure == nil || last.Failure.Category != v1alpha1.CategoryAuth || last.Repeated != 0 {
		t.Errorf("the rest: %+v", last)
	}
}

// R4.4: the records of a batch are lost of which somebody has edited the parts. No process ends for that, and nothing hangs.
func TestABatchThatMakesNoSenseCanBeLost(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]v1alpha1.BatchPart{{{From: 0, To: 9}}, {{From: 2, To: 1}}, {{From: -1, To: 1}}, {{From: 90, To: 100}}, nil} {
		b := announced(3)
		b.Parts = parts
		if batch.Lose(&b); batch.Open(&b) || states(&b)[v1alpha1.BatchMemberUncertain] != 3 {
			t.Errorf("%v: %+v", parts, states(&b))
		}
	}
}
