// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"encoding/json"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

var (
	began  = time.Date(2026, 5, 4, 10, 30, 0, 0, time.UTC)
	policy = backoff.Policy{MaxRetries: 10, InitialDelay: 5 * time.Minute, MaxDelay: 24 * time.Hour, Multiplier: 2}
)

const timeout = 30 * time.Second

func members(n int) []v1alpha1.BatchMember {
	all := make([]v1alpha1.BatchMember, 0, n)
	for i := range n {
		all = append(all, v1alpha1.BatchMember{Item: fmt.Sprintf("item-%d", i), UID: types.UID(fmt.Sprint(i)), Key: fmt.Sprintf("key-%d", i)})
	}
	return all
}

func failed(category v1alpha1.Category, status int32) *v1alpha1.Failure {
	return &v1alpha1.Failure{
		Category: category, HTTPStatus: status, Message: fmt.Sprintf("answered %d", status), Time: metav1.NewTime(began),
		Retryable: category == v1alpha1.CategoryAPI || category == v1alpha1.CategoryNetwork || category == v1alpha1.CategoryRateLimit,
	}
}

// announced is a batch whose first request is under way.
func announced(n int) v1alpha1.Batch {
	b := batch.New(members(n))
	batch.Intend(&b, timeout, began)
	return b
}

// states is how many members are in each state.
func states(b *v1alpha1.Batch) map[v1alpha1.BatchMemberState]int {
	count := map[v1alpha1.BatchMemberState]int{}
	for _, member := range b.Members {
		count[member.State]++
	}
	return count
}

// R4.3: the key is the SHA-256 over the sorted keys of the records, joined by |.
func TestTheKeyOfABatchIsThatOfItsRecords(t *testing.T) {
	t.Parallel()
	three := members(3)
	backwards := []v1alpha1.BatchMember{three[2], three[0], three[1]}
	const want = "5a0d1dd7dfc9bf0c8d6b0ee9a5e3b8d0"
	if got, again := batch.KeyOf(three), batch.KeyOf(backwards); got != again || len(got) != 64 || got == want {
		t.Errorf("%s and %s", got, again)
	}
	if batch.KeyOf(three[:2]) == batch.KeyOf(three) {
		t.Error("a part has the key of the whole")
	}
}

// R3.4, R4.3, R4.4: what becomes of a batch, by what the first request with it has come to.
func TestWhatBecomesOfABatch(t *testing.T) {
	t.Parallel()
	later := began.Add(time.Second)
	for name, test := range map[string]struct {
		size    int
		before  func(*v1alpha1.Batch)
		outcome batch.Outcome
		holds   bool
		want    map[v1alpha1.BatchMemberState]int
		parts   int
		// uncertain is set if nobody knows whether it has arrived, and waits if it is retried later.
		uncertain, waits bool
	}{
		"it arrives":            {size: 3, outcome: batch.Outcome{Arrived: true}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberDone: 3}},
		"the receiver has some": {size: 3, outcome: batch.Outcome{Arrived: true, Duplicate: true}, want: map[v1alpha1.BatchMemberState]int{"": 3}, parts: 2},
		"the receiver had it":   {size: 1, outcome: batch.Outcome{Arrived: true, Duplicate: true}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberDuplicate: 1}},
		"the receiver had it by a request that was cut off": {
			size: 3, before: func(b *v1alpha1.Batch) { batch.Intend(b, timeout, began) }, outcome: batch.Outcome{Arrived: true, Duplicate: true},
			want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberDuplicate: 3},
		},
		"the receiver had it by a request before the one that is answered": {
			size: 3, outcome: batch.Outcome{Arrived: true, Duplicate: true, Repeated: 1}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberDuplicate: 3},
		},
		"nothing counts":       {size: 3, outcome: batch.Outcome{Again: true}, want: map[v1alpha1.BatchMemberState]int{"": 3}, parts: 1},
		"it is refused":        {size: 3, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryValidation, 400)}, want: map[v1alpha1.BatchMemberState]int{"": 3}, parts: 2},
		"it is too large":      {size: 3, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryValidation, 413)}, want: map[v1alpha1.BatchMemberState]int{"": 3}, parts: 2},
		"the one is refused":   {size: 1, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryValidation, 400)}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberRejected: 1}},
		"there is no such URL": {size: 3, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryValidation, 404)}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberRejected: 3}},
		"the token is refused": {size: 3, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryAuth, 401)}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberRejected: 3}},
		"the token is refused when a half has arrived": {
			size: 4, before: func(b *v1alpha1.Batch) {
				batch.Settle(b, batch.Outcome{NotAfter: b.NotAfter, Failure: failed(v1alpha1.CategoryValidation, 400)}, policy, true, later)
				batch.Intend(b, timeout, later)
				batch.Settle(b, batch.Outcome{NotAfter: b.NotAfter, Arrived: true}, policy, true, later)
				batch.Intend(b, timeout, later)
			},
			outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryAuth, 401)},
			want:    map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberDone: 2, v1alpha1.BatchMemberRejected: 2},
		},
		"the receiver is busy": {
			size: 3, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryAPI, 503)}, want: map[v1alpha1.BatchMemberState]int{"": 3}, parts: 1, waits: true,
		},
		"no answer came": {
			size: 3, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryNetwork, 0), Uncertain: true},
			want: map[v1alpha1.BatchMemberState]int{"": 3}, parts: 1, uncertain: true, waits: true,
		},
		"no answer came, and it is to be held": {
			size: 3, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryNetwork, 0), Uncertain: true}, holds: true,
			want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberUncertain: 3},
		},
		"it was cut off, and is to be held": {size: 3, outcome: batch.Outcome{Unknown: true}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberUncertain: 3}},
		"it is refused after a request that may have arrived": {
			size: 3, before: func(b *v1alpha1.Batch) { batch.Intend(b, timeout, began) }, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryValidation, 400)},
			want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberUncertain: 3},
		},
		"the last retry fails": {
			size: 3, before: func(b *v1alpha1.Batch) { b.FailedAttempts = 10 }, outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryAPI, 503)},
			want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberGivenUp: 3},
		},
		"it has failed for a week": {
			size: 3, before: func(b *v1alpha1.Batch) { b.FirstAttemptTime = &metav1.Time{Time: began.Add(-7 * 24 * time.Hour)} },
			outcome: batch.Outcome{Failure: failed(v1alpha1.CategoryAPI, 503)}, want: map[v1alpha1.BatchMemberState]int{v1alpha1.BatchMemberGivenUp: 3},
		},
	} {
		b := announced(test.size)
		if test.before != nil {
			test.before(&b)
		}
		test.outcome.NotAfter = b.NotAfter
		if !batch.Settle(&b, test.outcome, policy, !test.holds, later) {
			t.Errorf("%s: it does not belong", name)
		}
		if diff := cmp.Diff(test.want, states(&b)); diff != "" || len(b.Parts) != test.parts || b.InFlight != test.uncertain || (b.NextRetryTime != nil) != test.waits {
			t.Errorf("%s: %s, %d parts, in flight %t, next %v", name, diff, len(b.Parts), b.InFlight, b.NextRetryTime)
		}
	}
}

// R4.4: who is late changes nothing: the outcome of another request, or of one that was settled.
func TestAnOutcomeBelongsToItsRequest(t *testing.T) {
	t.Parallel()
	b := announced(2)
	if other := metav1.NewTime(b.NotAfter.Add(time.Second)); batch.Settle(&b, batch.Outcome{NotAfter: &other, Arrived: true}, policy, true, began) {
		t.Error("the outcome of another request was taken")
	}
	first := b.NotAfter
	if !batch.Settle(&b, batch.Outcome{NotAfter: first, Arrived: true}, policy, true, began) || batch.Settle(&b, batch.Outcome{NotAfter: first, Arrived: true}, policy, true, began) {
		t.Error("an outcome was not taken once")
	}
}

// R3.4, R4.4: a retry comes when it is due, and never before a request that may have arrived has settled; a person can have it come at once.
func TestWhenABatchIsDue(t *testing.T) {
	t.Parallel()
	b := announced(2)
	settled := b.NotAfter.Add(lifecycle.SettleTime)
	if due := batch.Due(&b, time.Time{}, began); !due.Equal(settled) {
		t.Errorf("cut off: due at %s, want %s", due, settled)
	}
	batch.Settle(&b, batch.Outcome{NotAfter: b.NotAfter, Failure: failed(v1alpha1.CategoryNetwork, 0), Uncertain: true}, policy, true, began)
	due := batch.Due(&b, time.Time{}, began)
	if wait := due.Sub(began); wait < 5*time.Minute || wait > 6*time.Minute+time.Second {
		t.Errorf("failed: due after %s", wait)
	}
	if due := batch.Due(&b, began.Add(time.Second), began); !due.Equal(settled) {
		t.Errorf("requested: due at %s, want %s", due, settled)
	}
	b.NextRetryTime = &metav1.Time{Time: began.Add(1000 * 24 * time.Hour)} // a clock was wrong
	if due := batch.Due(&b, time.Time{}, began); !due.Equal(settled) {
		t.Errorf("an impossible time is waited for: %s", due)
	}
}

// R3.7: a retry that was asked for is made once: what fails after it, within the same second or by a clock that was set back, is not asked for any more.
func TestARequestedRetryOfABatchIsServedOnce(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]time.Time{
		"never": {}, "before": began.Add(-time.Minute), "in the second in which it fails": began.Add(300 * time.Millisecond), "before the clock was set back": began.Add(time.Hour),
	} {
		b := announced(3)
		now := began.Add(500 * time.Millisecond)
		outcome := batch.Outcome{NotAfter: b.NotAfter, Failure: failed(v1alpha1.CategoryAPI, 503), Served: asked}
		if !batch.Settle(&b, outcome, policy, true, now) {
			t.Fatal("the outcome does not belong there")
		}
		b.Failure.Time = metav1.NewTime(b.Failure.Time.Truncate(time.Second)) // as it is kept
		if at := batch.Due(&b, asked, now); !at.Equal(b.NextRetryTime.Time) {
			t.Errorf("%s: it is due at %s, and not at %s", name, at, b.NextRetryTime)
		}
		if at := batch.Due(&b, lifecycle.AfterFailures(nil, b.Failure.Time.Time, now).Time, now); !at.IsZero() {
			t.Errorf("%s: asked for again, it is due at %s", name, at)
		}
	}
}

// R4.3: however many are refused, each of the others arrives once, and no request has what was refused before; one bad item in a
// hundred costs 15 requests at most.
func TestWhateverIsRefusedTheOthersArriveOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "members")
		bad := map[types.UID]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "bad") {
			bad[types.UID(fmt.Sprint(rapid.IntRange(0, n-1).Draw(t, "which")))] = true
		}
		b := batch.New(members(n))
		arrived, requests := map[types.UID]int{}, 0
		for now := began; batch.Open(&b); now = now.Add(time.Second) {
			if requests++; requests > 4*n {
				t.Fatal("it does not end")
			}
			if len(b.Parts) > 16 {
				t.Fatalf("%d parts", len(b.Parts))
			}
			batch.Intend(&b, timeout, now)
			part, refused := batch.Part(&b), false
			for _, member := range part {
				refused = refused || bad[member.UID]
			}
			outcome := batch.Outcome{NotAfter: b.NotAfter, Arrived: !refused}
			if refused {
				outcome.Failure = failed(v1alpha1.CategoryValidation, 400)
			} else {
				for _, member := range part {
					arrived[member.UID]++
				}
			}
			batch.Settle(&b, outcome, policy, true, now)
		}
		for _, member := range b.Members {
			want, times := v1alpha1.BatchMemberDone, 1
			if bad[member.UID] {
				want, times = v1alpha1.BatchMemberRejected, 0
			}
			if member.State != want || arrived[member.UID] != times {
				t.Errorf("%s is %s and has arrived %d times", member.Item, member.State, arrived[member.UID])
			}
		}
		if len(bad) == 1 && requests > 15 {
			t.Errorf("%d requests for one bad item among %d", requests, n)
		}
	})
}

// R4.4: what nobody can repeat any more is left to a person where it may have arrived, and is free again where it has not.
func TestABatchOfWhichTheRecordsAreLost(t *testing.T) {
	t.Parallel()
	sent := announced(2)
	if batch.Lose(&sent); len(sent.Members) != 2 || states(&sent)[v1alpha1.BatchMemberUncertain] != 2 || batch.Open(&sent) {
		t.Errorf("one that may have arrived: %+v", sent)
	}
	waiting := batch.New(members(2))
	if batch.Lose(&waiting); len(waiting.Members) != 0 || batch.Open(&waiting) {
		t.Errorf("one that has not: %+v", waiting)
	}
}

// Whatever somebody writes into a batch by hand, it ends no process.
func TestABatchThatMakesNoSenseIsNotSent(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]v1alpha1.BatchPart{{{From: 0, To: 9}}, {{From: 2, To: 1}}, {{From: -1, To: 1}}, nil} {
		b := batch.New(members(3))
		b.Parts = parts
		if len(batch.Part(&b)) != 0 {
			t.Errorf("%v: %v", parts, batch.Part(&b))
		}
		if batch.Intend(&b, timeout, began); batch.Settle(&b, batch.Outcome{NotAfter: b.NotAfter, Arrived: true}, policy, true, began) {
			t.Errorf("%v: settled", parts)
		}
	}
}

// R4.3: records are kept as they are sent, with their keys; what is too large for one object is said to be.
func TestRecordsAreKeptAsTheyAreSent(t *testing.T) {
	t.Parallel()
	records := make([]json.RawMessage, 0, 3)
	for _, member := range members(3) {
		record, err := batch.Record(`{"title":"a < b & \"c\"","idempotencyKey":"another"}`, member.Key)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	packed, err := batch.Pack(records)
	if err != nil {
		t.Fatal(err)
	}
	read, err := batch.Unpack(packed)
	if diff := cmp.Diff(records, read); err != nil || diff != "" {
		t.Fatalf("%v: %s", err, diff)
	}
	b := batch.New(members(3))
	body, key, err := batch.Body(&b, read)
	want := `{"batchIdempotencyKey":"` + b.Key + `","records":[{"idempotencyKey":"key-0","title":"a < b & \"c\""},` +
		`{"idempotencyKey":"key-1","title":"a < b & \"c\""},{"idempotencyKey":"key-2","title":"a < b & \"c\""}]}`
	if diff := cmp.Diff(want, body); err != nil || diff != "" || key != b.Key {
		t.Errorf("%v, %s: %s", err, key, diff)
	}
	if _, err := batch.Record(`["no object"]`, "1"); err == nil {
		t.Error("a list is a record")
	}
	for _, damaged := range []string{"", "no base64!", "bm8gZ3ppcA==", packed[:len(packed)/2]} {
		if _, err := batch.Unpack(damaged); err == nil || strings.Contains(err.Error(), "title") {
			t.Errorf("%q: %v", damaged, err)
		}
	}
	noise := make([]byte, 0, 1<<20)
	for i := uint64(1); len(noise) < 1<<20; i++ {
		noise = append(noise, batch.KeyOf([]v1alpha1.BatchMember{{Key: fmt.Sprint(i)}})...)
	}
	large, err := json.Marshal(map[string]string{"text": string(noise)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := batch.Pack([]json.RawMessage{large}); !errors.Is(err, batch.ErrTooLarge) {
		t.Errorf("1 MiB of noise: %v", err)
	}
}
