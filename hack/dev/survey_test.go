// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const standInURL = "http://127.0.0.1:8089"

func posted(name, id string) v1alpha1.FeedItem {
	item := summarized(name)
	item.Status.Deliveries = []v1alpha1.Delivery{{
		Destination: "mastodon", State: v1alpha1.DeliveryDone, ID: id, URL: standInURL + "/@feeds/" + id, Time: &metav1.Time{Time: noon},
	}}
	return item
}

func summarized(name string) v1alpha1.FeedItem {
	item := newItem(name, v1alpha1.PhaseProcessed)
	item.Status.Summary = &v1alpha1.Summary{Text: "It says this.", Provider: "built-in"}
	return *item
}

// R6.1: `make run ONCE=1` ends well only when everything is done.
func TestWhatIsMissingBeforeEverythingIsDone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		survey survey
		want   []string
	}{
		"nothing, when all are processed": {
			survey: survey{
				samples: true, initial: map[string]int{"https://example.org/feed": 2},
				sources: []v1alpha1.FeedSource{*newSource(metav1.ConditionTrue, "")},
				items:   []v1alpha1.FeedItem{summarized("one"), summarized("two")},
			},
		},
		"a source that was never polled": {
			survey: survey{sources: []v1alpha1.FeedSource{{ObjectMeta: metav1.ObjectMeta{Name: "news"}}}},
			want:   []string{"source news has not been polled"},
		},
		"a source that fails, with its reason": {
			survey: survey{sources: []v1alpha1.FeedSource{*newSource(metav1.ConditionFalse, "No such host.")}},
			want:   []string{"source news is not ready: No such host."},
		},
		"an entry that has not become an item": {
			survey: survey{
				samples: true, initial: map[string]int{"https://example.org/feed": 2},
				sources: []v1alpha1.FeedSource{*newSource(metav1.ConditionTrue, "")},
				items:   []v1alpha1.FeedItem{summarized("one")},
			},
			want: []string{"source news has 1 items, and should have 2"},
		},
		"entries beyond initialItems are not expected": {
			survey: survey{
				samples: true, initial: map[string]int{"https://example.org/feed": 7},
				sources: []v1alpha1.FeedSource{*newSource(metav1.ConditionTrue, "")},
				items: []v1alpha1.FeedItem{
					summarized("one"), summarized("two"), summarized("three"), summarized("four"), summarized("five"),
				},
			},
		},
		"an item that waits": {
			survey: survey{items: []v1alpha1.FeedItem{*newItem("one", v1alpha1.PhasePending)}},
			want:   []string{"one of news (Title of one) is Pending"},
		},
		"a failed item is an end": {
			survey: survey{items: []v1alpha1.FeedItem{*newItem("one", v1alpha1.PhaseFailed)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.survey.unfinished()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestItIsSaidInAFewLinesWhatHasBecomeOfAllItems(t *testing.T) {
	t.Parallel()
	failed := newItem("three", v1alpha1.PhaseFailed)
	failed.Status.Reason = v1alpha1.ReasonRetryLimitExceeded
	failed.Status.Failure = &v1alpha1.Failure{Message: "The server answered 503."}
	screenedOut := newItem("four", v1alpha1.PhaseProcessed)
	screenedOut.Status.Reason = v1alpha1.ReasonNotValuable
	s := survey{samples: true, items: []v1alpha1.FeedItem{posted("one", "1"), summarized("two"), *failed, *screenedOut}}
	const counted = "\nAll 4 items are finished: 3 processed, 1 failed. 1 are posted.\nSummaries by built-in 2.\n"
	const failure = "hese items failed:\n  three of news (Title of three) is Failed, RetryLimitExceeded: The server answered 503."

	var out strings.Builder
	if err := s.outcome(&out); err == nil || err.Error() != "t"+failure {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(counted, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	s.samples = false
	if err := s.outcome(&out); err != nil {
		t.Errorf("items of somebody's own source may fail: %v", err)
	}
	if diff := cmp.Diff(counted+"T"+failure+"\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestABrokenManifestIsNamed(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(name, []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(name, ""); err == nil || !strings.Contains(err.Error(), "mine.yaml") {
		t.Errorf("got %v", err)
	}
}
