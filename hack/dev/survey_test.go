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

func summarized(name string) v1alpha1.FeedItem {
	item := newItem(name, v1alpha1.PhaseProcessed)
	item.Status.Summary = &v1alpha1.Summary{Text: "It says this.", Provider: "built-in"}
	return *item
}

// R6.1: `make run ONCE=1` ends well only when everything is done.
func TestWhatIsMissingBeforeEverythingIsDone(t *testing.T) {
	t.Parallel()
	const atom = "http://127.0.0.1:8082/feeds/default/news.atom"
	listed := map[string]map[string]bool{atom: {"https://example.org/one": true, "https://example.org/two": true}}
	for name, test := range map[string]struct {
		survey survey
		want   []string
	}{
		"nothing, when all are processed and listed": {
			survey: survey{
				samples: true, initial: map[string]int{"https://example.org/feed": 2}, published: listed,
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
		"an item that the operator's feed does not list": {
			survey: survey{published: listed, items: []v1alpha1.FeedItem{summarized("one"), summarized("three")}},
			want:   []string{atom + " does not list https://example.org/three"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.survey.missing()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSamplesMustAllBeSummarized(t *testing.T) {
	t.Parallel()
	failed := newItem("two", v1alpha1.PhaseFailed)
	failed.Status.Reason = v1alpha1.ReasonRetryLimitExceeded
	failed.Status.Failure = &v1alpha1.Failure{Message: "The server answered 503."}
	s := survey{samples: true, items: []v1alpha1.FeedItem{summarized("one"), *failed}}
	err := s.verdict()
	want := "not every sample was summarized:\n  two of news (Title of two) is Failed, RetryLimitExceeded: The server answered 503."
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	s.samples = false
	if err := s.verdict(); err != nil {
		t.Errorf("items of somebody's own source may fail: %v", err)
	}
}

func TestTheReportShowsSummariesInFull(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	report(&out, []v1alpha1.FeedItem{summarized("one")})
	want := "\nSOURCE  PHASE      REASON  PROVIDER  TITLE\nnews    Processed          built-in  Title of one\n" +
		"\nTitle of one\nIt says this.\n\nAll items are finished: 1.\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestEverySampleIsReadAndFollowsTheFeedsToAnotherPort(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	kinds := map[string]int{}
	for _, sample := range samples {
		objects, err := readManifest(sample, "http://127.0.0.1:40404")
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			kinds[object.GetKind()]++
			spec, _ := object.Object["spec"].(map[string]any)
			if address, _ := spec["url"].(string); address != "" && !strings.HasPrefix(address, "http://127.0.0.1:40404/") {
				t.Errorf("%s: %s", sample, address)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"AIProvider": 1, "FeedSource": 3, "Kustomization": 1}, kinds); diff != "" {
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
