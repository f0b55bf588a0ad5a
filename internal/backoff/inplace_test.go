// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	failures "github.com/feed-operator/feed-operator/internal/failure"
)

// R3.3: up to three more calls for Network (1, 2, 4 s) and API (0.5, 1, 2 s at providers; 1, 2, 4 s for
// deliveries), jitter 0.8 to 1.2; nothing else is repeated in place.
func TestWaitInPlace(t *testing.T) {
	t.Parallel()
	of := func(category v1alpha1.Category) *failures.Error { return failures.New(category, "", "It failed.") }
	asked := of(v1alpha1.CategoryAPI)
	asked.RetryAfter = time.Second
	tests := map[string]struct {
		stage  v1alpha1.Stage
		failed *failures.Error
		calls  int
		waited time.Duration
		want   time.Duration // before the jitter; 0 for no repetition
	}{
		"network, first":                       {v1alpha1.StageSummarize, of(v1alpha1.CategoryNetwork), 1, 0, time.Second},
		"network, second":                      {v1alpha1.StageSummarize, of(v1alpha1.CategoryNetwork), 2, time.Second, 2 * time.Second},
		"network, third":                       {v1alpha1.StageScreen, of(v1alpha1.CategoryNetwork), 3, 3 * time.Second, 4 * time.Second},
		"network, not a fourth time":           {v1alpha1.StageSummarize, of(v1alpha1.CategoryNetwork), 4, 7 * time.Second, 0},
		"the other side, first":                {v1alpha1.StageSummarize, of(v1alpha1.CategoryAPI), 1, 0, time.Second / 2},
		"the other side, second":               {v1alpha1.StageSummarize, of(v1alpha1.CategoryAPI), 2, 0, time.Second},
		"the other side, third":                {v1alpha1.StageSummarize, of(v1alpha1.CategoryAPI), 3, 0, 2 * time.Second},
		"the other side of a delivery, first":  {v1alpha1.StageDeliver, of(v1alpha1.CategoryAPI), 1, 0, time.Second},
		"the other side of a delivery, third":  {v1alpha1.StageDeliver, of(v1alpha1.CategoryAPI), 3, 0, 4 * time.Second},
		"a delivery, not a fourth time":        {v1alpha1.StageDeliver, of(v1alpha1.CategoryNetwork), 4, 0, 0},
		"a pace is never repeated in place":    {v1alpha1.StageSummarize, of(v1alpha1.CategoryRateLimit), 1, 0, 0},
		"credentials neither":                  {v1alpha1.StageSummarize, of(v1alpha1.CategoryAuth), 1, 0, 0},
		"a refused request neither":            {v1alpha1.StageSummarize, of(v1alpha1.CategoryValidation), 1, 0, 0},
		"nor what nobody knows":                {v1alpha1.StageSummarize, of(v1alpha1.CategoryUnknown), 1, 0, 0},
		"who says when to come back is obeyed": {v1alpha1.StageSummarize, asked, 1, 0, 0},
		"ten seconds in all are the end":       {v1alpha1.StageSummarize, of(v1alpha1.CategoryNetwork), 1, 9300 * time.Millisecond, 0},
		"a page of a site that fails":          {v1alpha1.StageArticle, of(v1alpha1.CategoryAPI), 1, 0, 0},
		"a page that was cut off":              {v1alpha1.StageArticle, of(v1alpha1.CategoryNetwork), 2, time.Second, 2 * time.Second},
		"no failure":                           {v1alpha1.StageSummarize, nil, 1, 0, 0},
		"no call":                              {v1alpha1.StageSummarize, of(v1alpha1.CategoryNetwork), 0, 0, 0},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			wait, again := backoff.DefaultInPlace.Wait(test.stage, test.failed, test.calls, test.waited, "an item")
			if again != (test.want > 0) {
				t.Fatalf("repeated: %v after %s, want a wait of %s", again, wait, test.want)
			}
			if again && (wait < test.want*8/10 || wait > test.want*12/10) {
				t.Errorf("waits %s, want %s by a factor from 0.8 to 1.2", wait, test.want)
			}
		})
	}
	if _, again := (backoff.InPlace{}).Wait(v1alpha1.StageSummarize, of(v1alpha1.CategoryNetwork), 1, 0, ""); again {
		t.Error("repeated without a policy")
	}
}

// R3.3: at most 10 s of waiting in all, whatever fails in which order, and waits that differ.
func TestWaitingInPlaceIsBounded(t *testing.T) {
	t.Parallel()
	waits := map[time.Duration]bool{}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.String().Draw(t, "seed")
		stage := rapid.SampledFrom([]v1alpha1.Stage{v1alpha1.StageScreen, v1alpha1.StageSummarize, v1alpha1.StageDeliver}).Draw(t, "stage")
		var waited time.Duration
		for range 5 { // as many providers
			for calls := 1; ; calls++ {
				category := rapid.SampledFrom([]v1alpha1.Category{v1alpha1.CategoryNetwork, v1alpha1.CategoryAPI}).Draw(t, "category")
				wait, again := backoff.DefaultInPlace.Wait(stage, failures.New(category, "", "It failed."), calls, waited, seed)
				if !again {
					break
				}
				if calls > 3 || wait <= 0 {
					t.Fatalf("call %d after %s", calls+1, wait)
				}
				waits[wait] = true
				waited += wait
			}
		}
		if waited > 10*time.Second {
			t.Fatalf("waited %s", waited)
		}
	})
	if len(waits) < 50 {
		t.Errorf("only %d different waits", len(waits))
	}
	absurd := backoff.InPlace{Repeats: math.MaxInt, MaxWait: math.MaxInt64}
	if wait, _ := absurd.Wait(v1alpha1.StageDeliver, failures.New(v1alpha1.CategoryNetwork, "", "It failed."), math.MaxInt, 0, ""); wait <= 0 {
		t.Errorf("a wait of %s", wait)
	}
}
