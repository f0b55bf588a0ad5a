// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// story is a way in which an item comes to its phase and reason, and what its Ready condition says then.
type story struct {
	phase   v1alpha1.Phase
	reason  v1alpha1.Reason
	tell    func(*testing.T) *v1alpha1.FeedItem
	message string // times are shown as TIME
}

func settled(outcomes ...lifecycle.Outcome) func(*testing.T) *v1alpha1.FeedItem {
	return func(*testing.T) *v1alpha1.FeedItem {
		item := newItem()
		for _, outcome := range outcomes {
			lifecycle.Settle(item, outcome, usual, created)
		}
		return item
	}
}

func delivered(tell func(*testing.T, *v1alpha1.FeedItem)) func(*testing.T) *v1alpha1.FeedItem {
	return func(t *testing.T) *v1alpha1.FeedItem {
		t.Helper()
		item := toPost(here, there)
		tell(t, item)
		return item
	}
}

func broken(category v1alpha1.Category, reason v1alpha1.Reason, message string) lifecycle.Outcome {
	return lifecycle.Outcome{Reason: reason, Failure: &v1alpha1.Failure{
		Category: category, Message: message, Stage: v1alpha1.StageSummarize, Time: metav1.NewTime(created),
		Retryable: category != v1alpha1.CategoryAuth && category != v1alpha1.CategoryValidation,
	}}
}

const (
	retryHint = ". Annotate the item with feeds.feed-operator.io/retry to retry it"
	cureHint  = ". It is retried when the credentials are replaced"
)

// stories are all rows of the table of phases and reasons in the documentation of Reason, and more
// than one cause where the words differ.
func stories() map[string]story {
	api := func(outcome *lifecycle.DeliveryOutcome) {
		failed(v1alpha1.CategoryAPI, created)(outcome)
		outcome.Failure.Message = outcome.Destination + ".example answers with 503."
	}
	auth := func(outcome *lifecycle.DeliveryOutcome) {
		failed(v1alpha1.CategoryAuth, created)(outcome)
		outcome.Failure.Message = outcome.Destination + ".example refuses the access token"
	}
	hold := func(tell func(*testing.T) *v1alpha1.FeedItem) func(*testing.T) *v1alpha1.FeedItem {
		return func(t *testing.T) *v1alpha1.FeedItem {
			t.Helper()
			item := tell(t)
			lifecycle.Hold(item, `Waits for AIProvider "gemini": there is no such object`, created)
			return item
		}
	}
	busy := broken(v1alpha1.CategoryAPI, v1alpha1.ReasonAPIFailed, "gemini is overloaded")
	return map[string]story{
		"not worth a summary, for now": {
			v1alpha1.PhaseDeferred, v1alpha1.ReasonNotValuable, settled(lifecycle.Outcome{Verdict: judged(false, true)}),
			"Found not worth a summary: It is an advertisement. Next check at TIME (retry 1 of 5)",
		},
		"not complete": {
			v1alpha1.PhaseDeferred, v1alpha1.ReasonPageNotReady, settled(lifecycle.Outcome{Verdict: judged(true, false)}),
			"The page does not hold the whole article yet: It is an advertisement. Next retry at TIME (retry 1 of 5)",
		},
		"not readable": {
			v1alpha1.PhaseDeferred, v1alpha1.ReasonPageNotReady,
			settled(broken(v1alpha1.CategoryAPI, v1alpha1.ReasonPageNotReady, "The page holds no article")),
			"The page holds no article. Next retry at TIME (retry 1 of 5)",
		},
		"not there": {
			v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed,
			settled(broken(v1alpha1.CategoryNetwork, v1alpha1.ReasonDownloadFailed, "example.org does not answer.")),
			"example.org does not answer. Next retry at TIME (retry 1 of 5)",
		},
		"providers fail": {
			v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed, settled(busy, busy),
			"gemini is overloaded. Next retry at TIME (retry 2 of 5)",
		},
		"deliveries fail": {
			v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed, delivered(func(t *testing.T, item *v1alpha1.FeedItem) {
				t.Helper()
				deliver(t, item, here, created, api)
				deliver(t, item, there, created, api)
			}), "mastodon.example answers with 503. Next retry at TIME; still open: mastodon, archive",
		},
		"a delivery fails, another is open": {
			v1alpha1.PhasePending, v1alpha1.ReasonAPIFailed, delivered(func(t *testing.T, item *v1alpha1.FeedItem) {
				t.Helper()
				deliver(t, item, here, created, api)
			}), "Summarized by gemini, to be posted to mastodon, archive. Last failure: mastodon.example answers with 503",
		},
		"all is well so far": {
			v1alpha1.PhasePending, "", delivered(func(*testing.T, *v1alpha1.FeedItem) {}),
			"Summarized by gemini, to be posted to mastodon, archive",
		},
		"a new one waits": {
			v1alpha1.PhaseUnprocessed, v1alpha1.ReasonWaiting, hold(func(*testing.T) *v1alpha1.FeedItem { return newItem() }),
			`Waits for AIProvider "gemini": there is no such object`,
		},
		"one that has failed waits": {
			v1alpha1.PhaseDeferred, v1alpha1.ReasonWaiting, hold(settled(busy)), `Waits for AIProvider "gemini": there is no such object`,
		},
		"one that has its summary waits": {
			v1alpha1.PhasePending, v1alpha1.ReasonWaiting, hold(delivered(func(*testing.T, *v1alpha1.FeedItem) {})),
			`Waits for AIProvider "gemini": there is no such object`,
		},
		"not worth a summary to the last": {
			v1alpha1.PhaseProcessed, v1alpha1.ReasonNotValuable, settled(slices.Repeat([]lifecycle.Outcome{{Verdict: judged(false, true)}}, 6)...),
			"Skipped as not worth a summary: It is an advertisement",
		},
		"too large": {
			v1alpha1.PhaseProcessed, v1alpha1.ReasonLargeFileSkipped, settled(lifecycle.Outcome{Skipped: v1alpha1.ReasonLargeFileSkipped}),
			"Skipped: the article is larger than the source allows",
		},
		"nothing to be read": {
			v1alpha1.PhaseProcessed, v1alpha1.ReasonNoContent, settled(lifecycle.Outcome{Skipped: v1alpha1.ReasonNoContent}),
			"Skipped: the feed gives no content and no headline for this entry, and there is no page to be read. " +
				"Where it has a link, spec.article.source Auto or Page of the source has that read",
		},
		"posted before as another item": {
			v1alpha1.PhaseProcessed, v1alpha1.ReasonAlreadyPosted, settled(lifecycle.Outcome{
				Skipped:       v1alpha1.ReasonAlreadyPosted,
				Destinations:  []v1alpha1.DestinationReference{{Name: "mastodon"}},
				AlreadyPosted: []lifecycle.AlreadyPosted{{Destination: "mastodon", URL: "https://mastodon.example/@press/1"}},
			}),
			"Skipped: the same entry of the feed was posted before to mastodon. alreadyPosted: PostAgain, at the destination " +
				"in spec.destinations of the source, has such entries posted again",
		},
		"summarized, and no destination": {
			v1alpha1.PhaseProcessed, "", func(*testing.T) *v1alpha1.FeedItem { return toPost() }, "Summarized by gemini",
		},
		"summarized and posted": {
			v1alpha1.PhaseProcessed, "", delivered(func(t *testing.T, item *v1alpha1.FeedItem) {
				t.Helper()
				deliver(t, item, here, created, posted)
				deliver(t, item, there, created, posted)
			}), "Summarized by gemini, posted to mastodon, archive",
		},
		"all retries used up": {
			v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded, settled(slices.Repeat([]lifecycle.Outcome{busy}, 6)...),
			"gemini is overloaded" + retryHint,
		},
		"never complete": {
			v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded, settled(slices.Repeat([]lifecycle.Outcome{{Verdict: judged(true, false)}}, 6)...),
			"The page does not hold the whole article yet: It is an advertisement" + retryHint,
		},
		"a provider refuses the credentials": {
			v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed,
			settled(broken(v1alpha1.CategoryAuth, v1alpha1.ReasonAPIFailed, "gemini refuses the API key")),
			"gemini refuses the API key" + cureHint,
		},
		"destinations refuse the credentials": {
			v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed, delivered(func(t *testing.T, item *v1alpha1.FeedItem) {
				t.Helper()
				deliver(t, item, here, created, auth)
				deliver(t, item, there, created, posted)
			}), "mastodon.example refuses the access token. Not posted to mastodon. Posted to archive" + cureHint,
		},
		"content nobody can read": {
			v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidContent,
			settled(broken(v1alpha1.CategoryValidation, v1alpha1.ReasonInvalidContent, "The compressed content is damaged")),
			"The compressed content is damaged" + retryHint,
		},
		"a provider refuses the request": {
			v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration,
			settled(broken(v1alpha1.CategoryValidation, v1alpha1.ReasonAPIFailed, "gemini knows no such model")),
			"gemini knows no such model" + retryHint,
		},
		"nobody knows whether it was posted": {
			v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain, delivered(func(t *testing.T, item *v1alpha1.FeedItem) {
				t.Helper()
				deliver(t, item, here, created, posted)
				deliver(t, item, there, created, unverifiable)
			}), "Unknown whether this was posted to archive: no answer says so, and what was posted there could not be looked up. " +
				"Look there before you retry it. Posted to mastodon" + retryHint,
		},
	}
}

var aTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// R2.1, R2.2, R5.1: the table of phase, reason and cause, with the words for a person.
func TestPhasesReasonsAndTheirWords(t *testing.T) {
	t.Parallel()
	for name, told := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := told.tell(t)
			if item.Status.Phase != told.phase || item.Status.Reason != told.reason {
				t.Errorf("%s/%s, want %s/%s", item.Status.Phase, item.Status.Reason, told.phase, told.reason)
			}
			checkConditions(t, item)
			ready := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.ConditionReady)
			if diff := cmp.Diff(told.message, aTime.ReplaceAllString(ready.Message, "TIME")); diff != "" {
				t.Error(diff)
			}
			wantReason := string(told.reason)
			switch {
			case wantReason == "" && item.Terminal():
				wantReason = v1alpha1.ReasonSucceeded
			case wantReason == "":
				wantReason = v1alpha1.ReasonProgressing
			}
			if ready.Reason != wantReason {
				t.Errorf("reason %s of Ready, want %s", ready.Reason, wantReason)
			}
			for _, condition := range item.Status.Conditions {
				if condition.Type != v1alpha1.ConditionReady && (condition.Reason != wantReason || condition.Message != "") {
					t.Errorf("%s does not go with Ready: %+v", condition.Type, condition)
				}
			}
		})
	}
}

var documentedRow = regexp.MustCompile(`(?m)^//\t(any open|[A-Z]\w+) +([A-Z]\w+) `)

// documented are the rows of the table in the documentation of Reason.
func documented(t *testing.T) map[v1alpha1.Reason][]v1alpha1.Phase {
	t.Helper()
	source, err := os.ReadFile("../../api/v1alpha1/common_types.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[v1alpha1.Reason][]v1alpha1.Phase{}
	for _, row := range documentedRow.FindAllStringSubmatch(string(source), -1) {
		phases := []v1alpha1.Phase{v1alpha1.Phase(row[1])}
		if row[1] == "any open" {
			phases = []v1alpha1.Phase{v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending}
		}
		rows[v1alpha1.Reason(row[2])] = append(rows[v1alpha1.Reason(row[2])], phases...)
	}
	return rows
}

// R2.2: each row that the API documents happens, and each reason is documented.
func TestTheTableOfPhasesAndReasonsIsComplete(t *testing.T) {
	t.Parallel()
	told := map[v1alpha1.Reason][]v1alpha1.Phase{}
	for _, s := range stories() {
		told[s.reason] = append(told[s.reason], s.phase)
	}
	rows := documented(t)
	for reason, phases := range rows {
		for _, phase := range phases {
			if !slices.Contains(told[reason], phase) {
				t.Errorf("no story ends in %s/%s", phase, reason)
			}
		}
	}
	if len(rows) != 13 || len(told) != len(rows)+1 { // and the empty one
		t.Errorf("%d reasons are documented, %d happen", len(rows), len(told))
	}
}

// A condition changes its time when it changes, and not with every attempt.
func TestConditionsKeepTheTimeOfTheirTransition(t *testing.T) {
	t.Parallel()
	item := newItem()
	outcome := broken(v1alpha1.CategoryAPI, v1alpha1.ReasonAPIFailed, "gemini is overloaded")
	for attempt := range 6 {
		lifecycle.Settle(item, outcome, usual, created.Add(time.Duration(attempt)*time.Hour))
		for _, condition := range item.Status.Conditions {
			if since := condition.LastTransitionTime.Sub(created); since != 0 && condition.Type != v1alpha1.ConditionStalled {
				t.Errorf("attempt %d: %s since %s", attempt+1, condition.Type, since)
			}
		}
	}
	stalled := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.LastTransitionTime.Sub(created) != 5*time.Hour {
		t.Errorf("stalled: %+v", stalled)
	}
}
