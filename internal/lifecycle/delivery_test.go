// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

const (
	here        = "mastodon"
	there       = "archive"
	callTimeout = 30 * time.Second
)

var posting = lifecycle.DeliveryPolicyOf(&v1alpha1.FeedDestination{})

// toPost returns an item that was summarized when it was created, with a delivery to each destination.
func toPost(destinations ...string) *v1alpha1.FeedItem {
	item := newItem()
	var refs []v1alpha1.DestinationReference
	for _, name := range destinations {
		refs = append(refs, v1alpha1.DestinationReference{Name: name})
	}
	lifecycle.Settle(item, lifecycle.Outcome{
		Summary: &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"}, Destinations: refs,
	}, usual, created)
	return item
}

func intend(item *v1alpha1.FeedItem, destination string, at time.Time) *v1alpha1.Delivery {
	lifecycle.Intend(item, destination, "hash", callTimeout, at)
	return lifecycle.RowOf(item, destination)
}

// result is the outcome of the call that a delivery's intent announced.
func result(row *v1alpha1.Delivery, change ...func(*lifecycle.DeliveryOutcome)) lifecycle.DeliveryOutcome {
	outcome := lifecycle.DeliveryOutcome{Destination: row.Destination}
	if row.State == v1alpha1.DeliveryIntent {
		outcome.NotAfter = row.NotAfter.DeepCopy()
	}
	for _, c := range change {
		c(&outcome)
	}
	return outcome
}

func posted(outcome *lifecycle.DeliveryOutcome) {
	outcome.Posted, outcome.ID, outcome.URL = true, "110", "https://mastodon.example/@feed/110"
}

func failed(category v1alpha1.Category, at time.Time) func(*lifecycle.DeliveryOutcome) {
	return func(outcome *lifecycle.DeliveryOutcome) {
		retryable := category == v1alpha1.CategoryNetwork || category == v1alpha1.CategoryRateLimit || category == v1alpha1.CategoryAPI
		outcome.Failure = &v1alpha1.Failure{
			Category: category, Type: "HTTPStatus", Message: "It broke.", Retryable: retryable,
			Stage: v1alpha1.StageDeliver, Object: outcome.Destination, Time: metav1.NewTime(at),
		}
	}
}

func lookingFailed(at time.Time) func(*lifecycle.DeliveryOutcome) {
	return func(outcome *lifecycle.DeliveryOutcome) {
		failed(v1alpha1.CategoryNetwork, at)(outcome)
		outcome.Looking = true
	}
}

func isUncertain(outcome *lifecycle.DeliveryOutcome) { outcome.Uncertain = true }
func missing(outcome *lifecycle.DeliveryOutcome)     { outcome.Missing = true }
func unverifiable(outcome *lifecycle.DeliveryOutcome) {
	outcome.Unverifiable = true
}
func protected(outcome *lifecycle.DeliveryOutcome) { outcome.Protected = true }
func dropped(outcome *lifecycle.DeliveryOutcome)   { outcome.Dropped = true }
func again(outcome *lifecycle.DeliveryOutcome)     { outcome.Again = true }

func withRetryAfter(wait time.Duration) func(*lifecycle.DeliveryOutcome) {
	return func(outcome *lifecycle.DeliveryOutcome) { outcome.RetryAfter = wait }
}

func settleDelivery(t *testing.T, item *v1alpha1.FeedItem, outcome lifecycle.DeliveryOutcome, at time.Time) {
	t.Helper()
	if !lifecycle.SettleDelivery(item, outcome, posting, at) {
		t.Fatal("the outcome is not taken")
	}
	checkConditions(t, item)
	if got := item.Status.LastCheckTime; got == nil || !got.Time.Equal(at) { // R2.7
		t.Errorf("last check time %v, want %s", got, at)
	}
}

// Every step from one state of a delivery to the next. An expected wait counts from the call's
// beginning; none at all means that it is due at once, or has ended.
//
// R3.2, R3.4, R4.4
func TestADeliveryGoesFromStateToState(t *testing.T) {
	t.Parallel()
	ended := created.Add(10 * time.Second) // of the call
	looked := created.Add(2 * time.Minute) // of the look-up
	minutes := func(n int) [2]time.Duration {
		d := time.Duration(n) * time.Minute
		return [2]time.Duration{d, d*12/10 + time.Second}
	}
	lookAt := [2]time.Duration{callTimeout + lifecycle.SettleTime, callTimeout + lifecycle.SettleTime}
	none := [2]time.Duration{}
	queued := func(*testing.T, *v1alpha1.FeedItem) {}
	underWay := func(_ *testing.T, item *v1alpha1.FeedItem) { intend(item, here, created) }
	uncertain := func(t *testing.T, item *v1alpha1.FeedItem) {
		settleDelivery(t, item, result(intend(item, here, created), failed(v1alpha1.CategoryNetwork, ended), isUncertain), ended)
	}
	type change = func(*lifecycle.DeliveryOutcome)
	for name, test := range map[string]struct {
		before      func(*testing.T, *v1alpha1.FeedItem)
		outcome     []change
		at          time.Time
		wantState   v1alpha1.DeliveryState
		wantWait    [2]time.Duration // least and most, from created
		wantFailed  int32
		wantFailure string // its type
	}{
		"a post that worked is done":                     {underWay, []change{posted}, ended, v1alpha1.DeliveryDone, none, 0, ""},
		"a post that was found is done":                  {uncertain, []change{posted}, looked, v1alpha1.DeliveryDone, none, 1, ""},
		"a post that was found after a crash is done":    {underWay, []change{posted}, looked, v1alpha1.DeliveryDone, none, 0, ""},
		"a refused request is dead":                      {underWay, []change{failed(v1alpha1.CategoryValidation, ended)}, ended, v1alpha1.DeliveryDead, none, 1, "HTTPStatus"},
		"refused credentials are dead":                   {underWay, []change{failed(v1alpha1.CategoryAuth, ended)}, ended, v1alpha1.DeliveryDead, none, 1, "HTTPStatus"},
		"credentials known to be refused need no call":   {queued, []change{failed(v1alpha1.CategoryAuth, ended)}, ended, v1alpha1.DeliveryDead, none, 1, "HTTPStatus"},
		"a broken server is tried again":                 {underWay, []change{failed(v1alpha1.CategoryAPI, ended)}, created, v1alpha1.DeliveryQueued, minutes(5), 1, "HTTPStatus"},
		"a rate limit is tried again":                    {underWay, []change{failed(v1alpha1.CategoryRateLimit, ended)}, created, v1alpha1.DeliveryQueued, minutes(5), 1, "HTTPStatus"},
		"a failure of a kind unknown is tried again":     {underWay, []change{failed(v1alpha1.CategoryUnknown, ended)}, created, v1alpha1.DeliveryQueued, minutes(5), 1, "HTTPStatus"},
		"a call that may have worked is looked for":      {underWay, []change{failed(v1alpha1.CategoryNetwork, ended), isUncertain}, ended, v1alpha1.DeliveryIntent, lookAt, 1, "HTTPStatus"},
		"one that is not wanted any more is dropped":     {queued, []change{dropped}, ended, v1alpha1.DeliveryDropped, none, 0, ""},
		"a cut-off one may be dropped":                   {underWay, []change{dropped}, looked, v1alpha1.DeliveryDropped, none, 0, ""},
		"what does not count is done again":              {underWay, []change{again}, ended, v1alpha1.DeliveryQueued, none, 0, ""},
		"missing after a failed call waits as it would":  {uncertain, []change{missing}, looked, v1alpha1.DeliveryQueued, [2]time.Duration{5*time.Minute + 10*time.Second, 6*time.Minute + 11*time.Second}, 1, "HTTPStatus"},
		"missing after a cut-off is due now":             {underWay, []change{missing}, looked, v1alpha1.DeliveryQueued, none, 0, ""},
		"protected after a failed call waits as it does": {uncertain, []change{protected}, looked, v1alpha1.DeliveryIntent, [2]time.Duration{5*time.Minute + 10*time.Second, 6*time.Minute + 11*time.Second}, 1, "HTTPStatus"},
		"protected after a cut-off stays due":            {underWay, []change{protected}, looked, v1alpha1.DeliveryIntent, lookAt, 0, ""},
		"what nobody can find out is dead":               {uncertain, []change{unverifiable}, looked, v1alpha1.DeliveryDead, none, 1, lifecycle.TypeUncertain},
		"what nobody can find out after a crash is dead": {underWay, []change{unverifiable}, looked, v1alpha1.DeliveryDead, none, 0, lifecycle.TypeUncertain},
		"a look-up that failed is done again":            {underWay, []change{lookingFailed(looked)}, created, v1alpha1.DeliveryIntent, minutes(5), 1, "HTTPStatus"},
		"a look-up that failed counts on":                {uncertain, []change{lookingFailed(looked)}, created, v1alpha1.DeliveryIntent, minutes(10), 2, "HTTPStatus"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := toPost(here)
			test.before(t, item)
			row := lifecycle.RowOf(item, here)
			key := row.Key
			settleDelivery(t, item, result(row, test.outcome...), test.at)
			if row.State != test.wantState || row.FailedAttempts != test.wantFailed {
				t.Errorf("%s with %d failed attempts, want %s with %d", row.State, row.FailedAttempts, test.wantState, test.wantFailed)
			}
			if row.Key != key {
				t.Error("the key has changed")
			}
			var wait time.Duration
			if row.NextRetryTime != nil {
				wait = row.NextRetryTime.Sub(created)
			}
			if wait < test.wantWait[0] || wait > test.wantWait[1] {
				t.Errorf("next %s after the call began, want %s to %s", wait, test.wantWait[0], test.wantWait[1])
			}
			kind := ""
			if row.Failure != nil {
				kind = row.Failure.Type
			}
			if kind != test.wantFailure {
				t.Errorf("failure of type %q, want %q", kind, test.wantFailure)
			}
		})
	}
}

// R4.4: the intent says until when the call may go on, and nobody looks before its settle time.
func TestAnIntentIsNotTouchedBeforeItsSettleTime(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	now := created.Add(300 * time.Millisecond)
	row := intend(item, here, now)
	checkConditions(t, item)
	if row.State != v1alpha1.DeliveryIntent || row.TextHash != "hash" || !row.FirstAttemptTime.Time.Equal(created) {
		t.Errorf("row %+v", row)
	}
	if ends := now.Add(callTimeout); row.NotAfter.Time.Before(ends) || row.NotAfter.Sub(ends) >= time.Second {
		t.Errorf("not after %s, want the first whole second after %s", row.NotAfter, ends)
	}
	settled := row.NotAfter.Add(lifecycle.SettleTime)
	if step := lifecycle.Next(item, settled.Add(-time.Second)); step.Action != lifecycle.Wait || !step.Until.Equal(settled) {
		t.Errorf("a second before the settle time: %+v", step)
	}
	if step := lifecycle.Next(item, settled); step.Action != lifecycle.Deliver || !lifecycle.MustLookUp(row) {
		t.Errorf("at the settle time: %+v, must look: %t", step, lifecycle.MustLookUp(row))
	}
	if item.Status.Phase != v1alpha1.PhasePending || item.Status.NextRetryTime != nil {
		t.Errorf("%s with next retry %v while a post is under way", item.Status.Phase, item.Status.NextRetryTime)
	}
}

// R2.8, R4.4: a post that was made is always noted; any other result belongs on its own intent only.
func TestAResultBelongsToItsIntent(t *testing.T) {
	t.Parallel()
	type change = func(*lifecycle.DeliveryOutcome)
	outcomes := map[string][]change{
		"posted": {posted}, "failed": {failed(v1alpha1.CategoryAPI, created)}, "refused": {failed(v1alpha1.CategoryAuth, created)},
		"uncertain": {failed(v1alpha1.CategoryNetwork, created), isUncertain}, "missing": {missing}, "unverifiable": {unverifiable},
		"protected": {protected}, "dropped": {dropped}, "again": {again}, "looking failed": {lookingFailed(created)},
	}
	later := created.Add(5 * time.Minute)
	for name, live := range map[string]func(item *v1alpha1.FeedItem){
		"another attempt is under way": func(item *v1alpha1.FeedItem) { intend(item, here, later) },
		"it is queued again":           func(item *v1alpha1.FeedItem) { lifecycle.RowOf(item, here).State = v1alpha1.DeliveryQueued },
		"it was given up":              func(item *v1alpha1.FeedItem) { lifecycle.RowOf(item, here).State = v1alpha1.DeliveryDead },
		"it was dropped":               func(item *v1alpha1.FeedItem) { lifecycle.RowOf(item, here).State = v1alpha1.DeliveryDropped },
	} {
		for kind, outcome := range outcomes {
			t.Run(kind+", but "+name, func(t *testing.T) {
				t.Parallel()
				item := toPost(here, there)
				late := result(intend(item, here, created), outcome...)
				live(item)
				before := item.DeepCopy()
				took := lifecycle.SettleDelivery(item, late, posting, later)
				if kind == "posted" {
					if row := lifecycle.RowOf(item, here); !took || row.State != v1alpha1.DeliveryDone || row.URL == "" || row.ID == "" {
						t.Errorf("a post that was made is lost: %+v", row)
					}
					return
				}
				if took {
					t.Error("the result is taken")
				}
				if diff := cmp.Diff(before, item); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestAResultOfADeliveryThatWasNeverIntendedNeedsAQueuedOne(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	intend(item, here, created)
	outcome := lifecycle.DeliveryOutcome{Destination: here, Dropped: true}
	if lifecycle.SettleDelivery(item, outcome, posting, created) {
		t.Error("a post that is under way was dropped from aside")
	}
}

// R3.7: the result of a batch is noted once, so that it gives up nothing that somebody has retried since; and that of the next batch counts.
func TestTheResultOfABatchIsNotedOnce(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	row := &item.Status.Deliveries[0]
	inBatch := func(batches int32, at time.Time) lifecycle.DeliveryOutcome {
		outcome := result(row, failed(v1alpha1.CategoryValidation, at))
		outcome.FirstAttempt, outcome.Batches, outcome.GivenUp = &metav1.Time{Time: at}, batches, true
		return outcome
	}
	first, later := inBatch(0, created), created.Add(time.Hour)
	settleDelivery(t, item, first, created)
	if !(lifecycle.RetryRequests{Source: later}).Apply(item, later) || row.State != v1alpha1.DeliveryQueued {
		t.Fatalf("the delivery is %s", row.State)
	}
	if lifecycle.SettleDelivery(item, first, posting, later) || row.State != v1alpha1.DeliveryQueued {
		t.Errorf("it was noted twice: %+v", row)
	}
	settleDelivery(t, item, inBatch(1, later), later)
	if row.State != v1alpha1.DeliveryDead || row.Batches != 2 {
		t.Errorf("after the next batch the delivery is %+v", row)
	}
}

// R4.4: no result goes to what it is none of.
func TestAResultOfAnotherItemIsNotTaken(t *testing.T) {
	t.Parallel()
	outcome := result(intend(toPost(here), here, created), posted)
	done := toPost(here)
	settleDelivery(t, done, result(intend(done, here, created), posted), created)
	withoutSummary := toPost(here)
	withoutSummary.Status.Summary = nil
	for name, item := range map[string]*v1alpha1.FeedItem{
		"one without the destination":  toPost(there),
		"one without a summary":        withoutSummary,
		"one that has its post by now": done,
	} {
		before := item.DeepCopy()
		if lifecycle.SettleDelivery(item, outcome, posting, created.Add(time.Minute)) {
			t.Errorf("%s takes the post", name)
		}
		if diff := cmp.Diff(before, item); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// R4.4: the key follows from the item and the destination, whoever makes it.
func TestKeysAreDeterministic(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	for _, uid := range []types.UID{"a", "b"} {
		for _, destination := range []string{"x", "y"} {
			key := ""
			for range 2 {
				item := newItem(func(item *v1alpha1.FeedItem) { item.UID = uid })
				lifecycle.Enqueue(item, []v1alpha1.DestinationReference{{Name: destination}})
				made := lifecycle.RowOf(item, destination).Key
				if key != "" && made != key {
					t.Errorf("%s at %s has two keys", uid, destination)
				}
				key = made
			}
			if len(key) != 32 {
				t.Errorf("key %q", key)
			}
			if other, known := keys[key]; known {
				t.Errorf("%s at %s has the key of %s", uid, destination, other)
			}
			keys[key] = string(uid) + " at " + destination
		}
	}
}

func TestEnqueueKeepsWhatThereIs(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	settleDelivery(t, item, result(intend(item, here, created), posted), created)
	want := *lifecycle.RowOf(item, here)
	lifecycle.Enqueue(item, []v1alpha1.DestinationReference{{Name: there}, {Name: here}, {Name: there}})
	if len(item.Status.Deliveries) != 2 {
		t.Fatalf("%d deliveries", len(item.Status.Deliveries))
	}
	if diff := cmp.Diff(want, *lifecycle.RowOf(item, here)); diff != "" {
		t.Error(diff)
	}
}

// A time that no rule can have set is not waited for.
func TestADeliveryIsNotParkedByANonsensicalTime(t *testing.T) {
	t.Parallel()
	row := &v1alpha1.Delivery{State: v1alpha1.DeliveryQueued, NextRetryTime: &metav1.Time{Time: created.AddDate(3, 0, 0)}}
	if at, open := lifecycle.Due(row, created); !open || at.After(created) {
		t.Errorf("due at %s, open: %t", at, open)
	}
	for _, state := range []v1alpha1.DeliveryState{v1alpha1.DeliveryDone, v1alpha1.DeliveryDead, v1alpha1.DeliveryDropped} {
		if _, open := lifecycle.Due(&v1alpha1.Delivery{State: state}, created); open {
			t.Errorf("a delivery that is %s is open", state)
		}
	}
}
