// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// told writes a history in short, one word for each fact of an entry that is there.
func told(history []v1alpha1.HistoryEntry) []string {
	var lines []string
	for _, entry := range history {
		words := []string{string(entry.Stage), string(entry.Status)}
		if entry.Category != "" {
			words = append(words, string(entry.Category))
		}
		words = append(words, fmt.Sprintf("#%d", entry.Retry))
		if entry.Duration != nil {
			words = append(words, entry.Duration.Duration.String())
		}
		if entry.Object != "" {
			words = append(words, entry.Object)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// R3.11
func TestAnAttemptIsEnteredInTheHistory(t *testing.T) {
	t.Parallel()
	now := created.Add(time.Hour)
	began := now.Add(-1234567 * time.Microsecond)
	broken := func(stage v1alpha1.Stage, category v1alpha1.Category, retryable bool, object string) *v1alpha1.Failure {
		return &v1alpha1.Failure{Category: category, Message: "It broke.", Retryable: retryable, Stage: stage, Object: object}
	}
	failedBefore := func(retries int32) func(*v1alpha1.FeedItem) {
		return func(item *v1alpha1.FeedItem) {
			item.Status.FirstFailureTime, item.Status.RetryCount = &metav1.Time{Time: created}, retries
		}
	}
	summary := &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"}
	fit := &v1alpha1.Screening{Valuable: true, Complete: true, Provider: "judge"}
	unfit := &v1alpha1.Screening{Complete: true, Provider: "judge"}
	partial := &v1alpha1.Screening{Valuable: true, Provider: "judge"}
	for name, test := range map[string]struct {
		item    *v1alpha1.FeedItem
		outcome lifecycle.Outcome
		want    []string
	}{
		"a summary": {newItem(), lifecycle.Outcome{Began: began, Summary: summary}, []string{"summarize success #0 1.235s gemini"}},
		"a summary by the second retry": {
			newItem(failedBefore(1)), lifecycle.Outcome{Began: began, Summary: summary},
			[]string{"summarize success #2 1.235s gemini"},
		},
		"a summary of an article that was found worth it": {
			newItem(), lifecycle.Outcome{Began: began, Summary: summary, Verdict: fit},
			[]string{"screen success #0 1.235s judge", "summarize success #0 1.235s gemini"},
		},
		"a page that does not answer is tried again": {
			newItem(), lifecycle.Outcome{
				Began: began, Failure: broken(v1alpha1.StageArticle, v1alpha1.CategoryNetwork, true, "example.org"), Reason: v1alpha1.ReasonDownloadFailed,
			}, []string{"article retrying Network #0 1.235s example.org"},
		},
		"the fifth failed retry is the last": {
			newItem(failedBefore(4)), lifecycle.Outcome{
				Began: began, Failure: broken(v1alpha1.StageSummarize, v1alpha1.CategoryAPI, true, "gemini"), Reason: v1alpha1.ReasonAPIFailed,
			}, []string{"summarize failed API #5 1.235s gemini"},
		},
		"no attempt, because all credentials are refused": {
			newItem(), lifecycle.Outcome{Failure: broken(v1alpha1.StageSummarize, v1alpha1.CategoryAuth, false, "gemini")},
			[]string{"summarize failed Auth #0 gemini"},
		},
		"an article that is too large is skipped": {
			newItem(), lifecycle.Outcome{Began: began, Skipped: v1alpha1.ReasonLargeFileSkipped}, []string{"article success #0 1.235s"},
		},
		"an article that is not worth a summary is looked at again": {
			newItem(), lifecycle.Outcome{Began: began, Verdict: unfit}, []string{"screen retrying #0 1.235s judge"},
		},
		"an article that is not worth a summary to the last is done with": {
			newItem(failedBefore(4)), lifecycle.Outcome{Began: began, Verdict: unfit}, []string{"screen success #5 1.235s judge"},
		},
		"an article that is not complete is looked at again": {
			newItem(), lifecycle.Outcome{Began: began, Verdict: partial}, []string{"screen retrying Validation #0 1.235s judge"},
		},
		"an article that never was complete has failed": {
			newItem(failedBefore(4)), lifecycle.Outcome{Began: began, Verdict: partial}, []string{"screen failed Validation #5 1.235s judge"},
		},
		"judged, but not summarized": {
			newItem(), lifecycle.Outcome{
				Began: began, Verdict: fit, Failure: broken(v1alpha1.StageScreen, v1alpha1.CategoryAPI, true, "judge"), Reason: v1alpha1.ReasonAPIFailed,
			}, []string{"screen success #0 1.235s judge", "summarize retrying API #0 1.235s judge"},
		},
		"not even judged": {
			newItem(), lifecycle.Outcome{
				Began: began, Failure: broken(v1alpha1.StageScreen, v1alpha1.CategoryAPI, true, "judge"), Reason: v1alpha1.ReasonAPIFailed,
			}, []string{"screen retrying API #0 1.235s judge"},
		},
		"a clock that was set back": {
			newItem(), lifecycle.Outcome{Began: now.Add(time.Hour), Summary: summary}, []string{"summarize success #0 0s gemini"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lifecycle.Settle(test.item, test.outcome, usual, now)
			history := test.item.Status.History
			if diff := cmp.Diff(test.want, told(history)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if last := history[len(history)-1]; !last.Time.Time.Equal(now) {
				t.Errorf("the entry is of %v, not of %v", last.Time, now)
			}
		})
	}
}

// R3.11
func TestADeliveryIsEnteredInTheHistory(t *testing.T) {
	t.Parallel()
	now := created.Add(time.Hour)
	notAfter := &metav1.Time{Time: now.Add(time.Minute)}
	began := now.Add(-time.Second)
	policy := lifecycle.DeliveryPolicyOf(&v1alpha1.FeedDestination{})
	broken := &v1alpha1.Failure{
		Category: v1alpha1.CategoryAPI, Message: "It broke.", Retryable: true, Stage: v1alpha1.StageDeliver, Object: "social",
	}
	refused := broken.DeepCopy()
	refused.Category, refused.Retryable = v1alpha1.CategoryAuth, false
	for name, test := range map[string]struct {
		state   v1alpha1.DeliveryState
		failed  int32
		before  *v1alpha1.Failure
		outcome lifecycle.DeliveryOutcome
		want    []string
	}{
		"posted": {v1alpha1.DeliveryIntent, 0, nil, lifecycle.DeliveryOutcome{Began: began, Posted: true, ID: "1"}, []string{"deliver success #0 1s social"}},
		"posted by the third retry": {
			v1alpha1.DeliveryIntent, 3, nil, lifecycle.DeliveryOutcome{Began: began, Posted: true, ID: "1"}, []string{"deliver success #3 1s social"},
		},
		"failed for the first time": {
			v1alpha1.DeliveryIntent, 0, nil, lifecycle.DeliveryOutcome{Began: began, Failure: broken}, []string{"deliver retrying API #0 1s social"},
		},
		"perhaps posted": {
			v1alpha1.DeliveryIntent, 0, nil, lifecycle.DeliveryOutcome{Began: began, Failure: broken, Uncertain: true},
			[]string{"deliver retrying API #0 1s social"},
		},
		"failed for the last time": {
			v1alpha1.DeliveryIntent, 10, nil, lifecycle.DeliveryOutcome{Began: began, Failure: broken}, []string{"deliver failed API #10 1s social"},
		},
		"refused": {v1alpha1.DeliveryIntent, 0, nil, lifecycle.DeliveryOutcome{Began: began, Failure: refused}, []string{"deliver failed Auth #0 1s social"}},
		"nobody can say whether it was posted": {
			v1alpha1.DeliveryIntent, 1, broken, lifecycle.DeliveryOutcome{Unverifiable: true}, []string{"deliver failed Unknown #0 social"},
		},
		"not there, and failed before for the last time": {
			v1alpha1.DeliveryIntent, 1, refused, lifecycle.DeliveryOutcome{Missing: true}, []string{"deliver failed Auth #0 social"},
		},
		"not there, and to be posted again":    {v1alpha1.DeliveryIntent, 1, broken, lifecycle.DeliveryOutcome{Missing: true}, nil},
		"protected by its key":                 {v1alpha1.DeliveryIntent, 1, broken, lifecycle.DeliveryOutcome{Protected: true}, nil},
		"not wanted any more":                  {v1alpha1.DeliveryIntent, 0, nil, lifecycle.DeliveryOutcome{Dropped: true}, nil},
		"nothing that counts":                  {v1alpha1.DeliveryIntent, 0, nil, lifecycle.DeliveryOutcome{Again: true}, nil},
		"a result that does not belong there":  {v1alpha1.DeliveryQueued, 0, nil, lifecycle.DeliveryOutcome{Began: began, Failure: broken}, nil},
		"a result of one that has ended since": {v1alpha1.DeliveryDone, 0, nil, lifecycle.DeliveryOutcome{Began: began, Posted: true, ID: "1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := newItem()
			item.Status.Summary = &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"}
			item.Status.Deliveries = []v1alpha1.Delivery{{
				Destination: "social", State: test.state, FailedAttempts: test.failed, NotAfter: notAfter, Failure: test.before,
			}}
			test.outcome.Destination, test.outcome.NotAfter = "social", notAfter
			lifecycle.SettleDelivery(item, test.outcome, policy, now)
			if diff := cmp.Diff(test.want, told(item.Status.History)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

// R3.11: an item that is tried for ever carries its last ten attempts, the newest last, whatever
// somebody has made of the list.
func TestTheHistoryIsBounded(t *testing.T) {
	t.Parallel()
	for _, there := range []int{0, 8, 9, 10, 11, 40} {
		item := newItem()
		for i := range there {
			item.Status.History = append(item.Status.History, v1alpha1.HistoryEntry{Object: fmt.Sprint(i)})
		}
		before := item.DeepCopy()
		lifecycle.Settle(item, lifecycle.Outcome{Summary: &v1alpha1.Summary{Text: "x", Provider: "gemini"}}, usual, created)
		history := item.Status.History
		if len(history) != min(there+1, 10) || history[len(history)-1].Object != "gemini" {
			t.Errorf("of %d entries and one more are left: %v", there, told(history))
		}
		if there > 0 && history[len(history)-2].Object != fmt.Sprint(there-1) {
			t.Errorf("of %d entries, the last is gone: %v", there, told(history))
		}
		if added := lifecycle.Added(before.Status.History, history); len(added) != 1 || added[0].Object != "gemini" {
			t.Errorf("to %d entries were added: %v", there, told(added))
		}
		if added := lifecycle.Added(history, history); len(added) != 0 {
			t.Errorf("nothing was added to %d entries, but %v", len(history), told(added))
		}
	}
}

// R3.11: the history of an ordinary item, which is summarized and posted at once, is a few
// hundred bytes.
func TestTheHistoryIsSmall(t *testing.T) {
	t.Parallel()
	item := newItem()
	now := created.Add(time.Minute)
	lifecycle.Settle(item, lifecycle.Outcome{
		Began: created, Summary: &v1alpha1.Summary{Text: "x", Provider: "gemini"},
		Destinations: []v1alpha1.DestinationReference{{Name: "mastodon"}},
		Intents:      []lifecycle.Intent{{Destination: "mastodon", Timeout: time.Minute}},
	}, usual, now)
	lifecycle.SettleDelivery(item, lifecycle.DeliveryOutcome{
		Destination: "mastodon", Began: now, NotAfter: item.Status.Deliveries[0].NotAfter, Posted: true, ID: "1",
	}, lifecycle.DeliveryPolicy{}, now.Add(321*time.Millisecond))
	text, err := json.Marshal(item.Status.History)
	if err != nil {
		t.Fatal(err)
	}
	const most = 250
	if len(item.Status.History) != 2 || len(text) > most {
		t.Errorf("%d bytes, more than %d: %s", len(text), most, text)
	}
	t.Logf("%d bytes: %s", len(text), text)
}
