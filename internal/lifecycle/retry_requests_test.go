// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// stored is an item as the API server keeps it: with times of whole seconds.
func stored(item *v1alpha1.FeedItem) *v1alpha1.FeedItem {
	kept := item.DeepCopy()
	kept.Status.LastFailureTime = wholeSeconds(kept.Status.LastFailureTime)
	for i := range kept.Status.ProviderFailures {
		failed := &kept.Status.ProviderFailures[i]
		failed.Time = *wholeSeconds(&failed.Time)
	}
	for i := range kept.Status.Deliveries {
		if row := &kept.Status.Deliveries[i]; row.Failure != nil {
			row.Failure.Time = *wholeSeconds(&row.Failure.Time)
		}
	}
	return kept
}

func wholeSeconds(at *metav1.Time) *metav1.Time {
	if at == nil {
		return nil
	}
	return &metav1.Time{Time: at.Truncate(time.Second)}
}

func ofSource(after time.Duration) lifecycle.RetryRequests {
	return lifecycle.RetryRequests{Source: created.Add(after)}
}

func ofProvider(name string, after time.Duration) lifecycle.RetryRequests {
	return lifecycle.RetryRequests{Providers: map[string]time.Time{name: created.Add(after)}}
}

func ofDestination(name string, after time.Duration) lifecycle.RetryRequests {
	return lifecycle.RetryRequests{Destinations: map[string]time.Time{name: created.Add(after)}}
}

// failedBy is the outcome of an attempt that has failed at providers.
func failedBy(category v1alpha1.Category, names ...string) lifecycle.Outcome {
	outcome := lifecycle.Outcome{Failure: failure(category, retryable(category)), Reason: v1alpha1.ReasonAPIFailed}
	for _, name := range names {
		outcome.ProviderFailures = append(outcome.ProviderFailures, v1alpha1.ProviderFailure{
			Name: name, Category: category, Count: 1,
		})
	}
	return outcome
}

// R3.7: what a release of a source, a provider or a destination makes due.
func TestWhatAReleaseMakesDue(t *testing.T) {
	t.Parallel()
	settled := func(at time.Time, outcomes ...lifecycle.Outcome) func(*testing.T) *v1alpha1.FeedItem {
		return func(*testing.T) *v1alpha1.FeedItem {
			item := newItem()
			for i, outcome := range outcomes {
				lifecycle.Settle(item, outcome, usual, at.Add(-time.Duration(len(outcomes)-1-i)*time.Hour))
			}
			return item
		}
	}
	posting := func(do func(*testing.T, *v1alpha1.FeedItem)) func(*testing.T) *v1alpha1.FeedItem {
		return func(t *testing.T) *v1alpha1.FeedItem {
			t.Helper()
			item := toPost(here)
			do(t, item)
			return item
		}
	}
	deferred := settled(created, failedBy(v1alpha1.CategoryAPI, "gemini"))
	dead := settled(created, failedBy(v1alpha1.CategoryValidation, "gemini"))
	download := lifecycle.Outcome{Failure: failure(v1alpha1.CategoryNetwork, true), Reason: v1alpha1.ReasonDownloadFailed}
	for name, test := range map[string]struct {
		item     func(*testing.T) *v1alpha1.FeedItem
		releases lifecycle.RetryRequests
		want     lifecycle.Action
	}{
		"a deferred item, of its source":                   {deferred, ofSource(time.Second), lifecycle.Summarize},
		"a failed item, of its source":                     {dead, ofSource(time.Second), lifecycle.Summarize},
		"a failed item, of its provider":                   {dead, ofProvider("gemini", time.Second), lifecycle.Summarize},
		"a deferred item, of its provider":                 {deferred, ofProvider("gemini", time.Second), lifecycle.Summarize},
		"one that failed in the second of the release":     {settled(created.Add(400*time.Millisecond), failedBy(v1alpha1.CategoryAPI, "gemini")), ofSource(500 * time.Millisecond), lifecycle.Summarize},
		"one that failed after it":                         {deferred, ofSource(-time.Microsecond), lifecycle.Wait},
		"another provider":                                 {deferred, ofProvider("openai", time.Second), lifecycle.Wait},
		"a provider that has failed in an earlier attempt": {settled(created, failedBy(v1alpha1.CategoryAPI, "gemini"), download), ofProvider("gemini", time.Second), lifecycle.Wait},
		"a download that has failed, of the source":        {settled(created, download), ofSource(time.Second), lifecycle.Summarize},
		"one that was found not valuable, of the source":   {settled(created, lifecycle.Outcome{Verdict: judged(false, true)}), ofSource(time.Second), lifecycle.Summarize},
		"one that is skipped":                              {settled(created, lifecycle.Outcome{Skipped: v1alpha1.ReasonLargeFileSkipped}), ofSource(time.Second), lifecycle.Rest},
		"one that was never tried":                         {func(*testing.T) *v1alpha1.FeedItem { return newItem() }, ofSource(time.Second), lifecycle.Summarize},
		"one that has its summary":                         {settled(created, lifecycle.Outcome{Summary: &v1alpha1.Summary{Text: "x", Provider: "p"}}), ofSource(time.Second), lifecycle.Rest},
		"a post that is retried, of its destination": {posting(func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created))
		}), ofDestination(here, time.Second), lifecycle.Deliver},
		"a post that was given up, of its destination": {posting(func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
		}), ofDestination(here, time.Second), lifecycle.Deliver},
		"a post that was given up, of the source": {posting(func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
		}), ofSource(time.Second), lifecycle.Deliver},
		"a post that was given up, of another destination": {posting(func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
		}), ofDestination(there, time.Second), lifecycle.Rest},
		"a post that was made": {posting(func(t *testing.T, item *v1alpha1.FeedItem) { deliver(t, item, here, created, posted) }), ofDestination(here, time.Second), lifecycle.Rest},
		"a post of which nobody knows, before it has settled": {posting(func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created), isUncertain)
		}), ofSource(time.Second), lifecycle.Wait},
		"a post that is under way": {posting(func(_ *testing.T, item *v1alpha1.FeedItem) { intend(item, here, created) }), ofDestination(here, time.Second), lifecycle.Wait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, now := stored(test.item(t)), created.Add(2*time.Second)
			step := test.releases.Next(item, lifecycle.Next(item, now), now)
			if step.Action != test.want {
				t.Errorf("got %+v, want action %d", step, test.want)
			}
		})
	}
}

// R3.7: an item that has failed gets its whole retry budget back; one that is retried goes on counting.
func TestAReleasedItemThatFailsAgain(t *testing.T) {
	t.Parallel()
	dead, waits := newItem(), newItem()
	for range 6 {
		lifecycle.Settle(dead, failedBy(v1alpha1.CategoryAPI, "gemini"), usual, created)
	}
	for range 3 {
		lifecycle.Settle(waits, failedBy(v1alpha1.CategoryAPI, "gemini"), usual, created)
	}
	if dead.Status.Phase != v1alpha1.PhaseFailed || waits.Status.RetryCount != 2 {
		t.Fatalf("%s, %d retries", dead.Status.Phase, waits.Status.RetryCount)
	}
	outcome := failedBy(v1alpha1.CategoryAPI, "gemini")
	outcome.RetryRequests = ofProvider("gemini", time.Minute)
	for item, want := range map[*v1alpha1.FeedItem]int32{dead: 0, waits: 3} {
		began := item.DeepCopy()
		if !lifecycle.SameAttempt(began, item) {
			t.Error("the outcome does not belong there")
		}
		token("of the item")(item) // set while the attempt was made
		lifecycle.Settle(item, outcome, usual, created.Add(time.Hour))
		checkConditions(t, item)
		status := &item.Status
		if status.Phase != v1alpha1.PhaseDeferred || status.RetryCount != want || !status.NextRetryTime.After(created.Add(time.Hour)) {
			t.Errorf("%s with %d retries until %v, want %d", status.Phase, status.RetryCount, status.NextRetryTime, want)
		}
		if status.LastHandledRetry != "" {
			t.Errorf("the token of the item is used up by the retry of its provider")
		}
	}
}

// R4.4: a retry of all that has failed is no word of a person on each post: one of which nobody knows is
// looked for first, and never posted again where that cannot be done.
func TestAReleaseDecidesNothingAboutUncertainPosts(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	deliver(t, item, here, created, unverifiable)
	now := created.Add(time.Hour)
	releases := ofDestination(here, 30*time.Minute)
	if step := releases.Next(item, lifecycle.Next(item, now), now); step.Action != lifecycle.Deliver {
		t.Fatalf("got %+v", step)
	}
	releases.Apply(item, now)
	checkConditions(t, item)
	row := lifecycle.RowOf(item, here)
	if !lifecycle.MustLookUp(row) || lifecycle.MayRepeat(row, false, now, 0) {
		t.Fatalf("it is posted again: %+v", row)
	}
	outcome := result(row, unverifiable)
	outcome.RetryRequests = releases
	settleDelivery(t, item, outcome, now)
	if row.State != v1alpha1.DeliveryDead || item.Status.Reason != v1alpha1.ReasonDeliveryUncertain {
		t.Errorf("%s, %s", row.State, item.Status.Reason)
	}
	if step := releases.Next(stored(item), lifecycle.Next(item, now), now); step.Action != lifecycle.Rest {
		t.Errorf("it is looked for again: %+v", step)
	}
}

// R3.7: however failures, releases of several objects, restarts and attempts follow each other within
// the same seconds, an item is tried for each release that finds it failed, and once for those that
// came before one attempt.
func TestEachReleaseIsServedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		toDeliver := rapid.Bool().Draw(t, "a delivery")
		item, now := newItem(), created
		if toDeliver {
			item = toPost(here)
		}
		releases := lifecycle.RetryRequests{Providers: map[string]time.Time{}, Destinations: map[string]time.Time{}}
		pending := false // a release has come since the last attempt has ended
		attempt := func(known lifecycle.RetryRequests) {
			category := rapid.SampledFrom([]v1alpha1.Category{v1alpha1.CategoryAPI, v1alpha1.CategoryValidation}).Draw(t, "category")
			if !toDeliver {
				outcome := failedBy(category, "gemini")
				outcome.RetryRequests, outcome.ProviderFailures[0].Time = known, metav1.NewTime(now)
				lifecycle.Settle(item, outcome, usual, now)
			} else {
				known.Apply(item, now)
				outcome := result(intend(item, here, now), failed(category, now))
				outcome.RetryRequests = known
				lifecycle.SettleDelivery(item, outcome, posting, now)
			}
			checkConditions(t, item)
			item = stored(item)
			pending = false
		}
		attempt(releases)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				step := lifecycle.Next(item, now)
				if step.Action != lifecycle.Rest && step.Action != lifecycle.Wait {
					return // due by itself
				}
				again := releases.Next(item, step, now)
				if due := again.Action == lifecycle.Summarize || again.Action == lifecycle.Deliver; due != pending {
					t.Fatalf("due: %t, though a release is to be served: %t; %+v of %+v", due, pending, releases, item.Status)
				}
			},
			"a moment passes": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
			},
			"a person asks": func(t *rapid.T) {
				at := func(last time.Time) time.Time {
					var before *metav1.MicroTime
					if !last.IsZero() {
						before = &metav1.MicroTime{Time: last}
					}
					return lifecycle.AfterFailures(before, lifecycle.LastFailure(item), now).Time
				}
				switch {
				case rapid.Bool().Draw(t, "of the source"):
					releases.Source = at(releases.Source)
				case toDeliver:
					releases.Destinations[here] = at(releases.Destinations[here])
				default:
					releases.Providers["gemini"] = at(releases.Providers["gemini"])
				}
				pending = true
			},
			"an attempt ends": func(*rapid.T) {
				step := lifecycle.Next(item, now)
				if step = releases.Next(item, step, now); step.Action == lifecycle.Summarize || step.Action == lifecycle.Deliver {
					attempt(releases)
				}
			},
		})
	})
}

// R3.7: nothing is written on an item that is not freed.
func TestAReleaseThatDoesNotConcernAnItemChangesNothing(t *testing.T) {
	t.Parallel()
	item := toPost(here, there)
	deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
	before := item.DeepCopy()
	for _, releases := range []lifecycle.RetryRequests{{}, ofSource(-time.Second), ofDestination(there, time.Hour), ofProvider("gemini", time.Hour)} {
		if releases.Apply(item, created.Add(time.Hour)) {
			t.Error("it was released")
		}
		if diff := cmp.Diff(before, item); diff != "" {
			t.Error(diff)
		}
	}
}
