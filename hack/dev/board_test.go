// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

var noon = time.Date(2026, time.November, 18, 12, 0, 0, 0, time.Local)

func newItem(name string, phase v1alpha1.Phase) *v1alpha1.FeedItem {
	return &v1alpha1.FeedItem{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec:       v1alpha1.FeedItemSpec{SourceRef: v1alpha1.SourceReference{Name: "news"}, Title: "Title of " + name, URL: "https://example.org/" + name},
		Status:     v1alpha1.FeedItemStatus{Phase: phase},
	}
}

func newSource(ready metav1.ConditionStatus, message string) *v1alpha1.FeedSource {
	return &v1alpha1.FeedSource{
		ObjectMeta: metav1.ObjectMeta{Name: "news", Namespace: "default", UID: "news"},
		Spec:       v1alpha1.FeedSourceSpec{URL: "https://example.org/feed"},
		Status: v1alpha1.FeedSourceStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: ready, Reason: v1alpha1.ReasonSucceeded, Message: message},
		}},
	}
}

func TestTheBoardShowsEachChangeOnce(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := newBoard(&out)

	b.sawSource(newSource(metav1.ConditionTrue, "Reads news"), noon)
	b.sawItem(newItem("one", v1alpha1.PhaseUnprocessed), noon)
	b.sawItem(newItem("one", v1alpha1.PhaseUnprocessed), noon.Add(time.Second))
	deferred := newItem("one", v1alpha1.PhaseDeferred)
	deferred.Status.Reason = v1alpha1.ReasonDownloadFailed
	deferred.Status.Failure = &v1alpha1.Failure{Message: "The server answered 503."}
	deferred.Status.NextRetryTime = &metav1.Time{Time: noon.Add(7 * time.Second)}
	b.sawItem(deferred, noon.Add(2*time.Second))
	b.sawSource(newSource(metav1.ConditionTrue, "Reads news, still"), noon.Add(3*time.Second))
	b.sawItem(newItem("one", v1alpha1.PhaseProcessed), noon.Add(8*time.Second))

	want := `TIME      SOURCE              PHASE        REASON              TITLE
12:00:00  news                Ready        Succeeded           Reads news
12:00:00  news                Unprocessed                      Title of one
12:00:02  news                Deferred     DownloadFailed      Title of one
          └ The server answered 503. Next try at 12:00:07.
12:00:08  news                Processed                        Title of one
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheFirstItemsAreDoneWhenOneIsProcessedAndAllWereTried(t *testing.T) {
	t.Parallel()
	b := newBoard(&strings.Builder{})
	check := func(want bool, when string) {
		t.Helper()
		if got := b.firstItemsDone(); got != want {
			t.Errorf("%s: %v", when, got)
		}
	}
	check(false, "without items")
	b.saw(newItem("one", v1alpha1.PhaseDeferred))
	check(false, "with a deferred item only")
	b.saw(newItem("two", v1alpha1.PhaseProcessed))
	check(true, "with one processed")
	b.saw(newItem("three", v1alpha1.PhaseUnprocessed))
	check(false, "with one that is new")
	b.gone(toolscache.DeletedFinalStateUnknown{Obj: newItem("three", v1alpha1.PhaseUnprocessed)})
	check(true, "when that one is gone")
}

func TestTitlesAreCutByTheColumnsTheyTake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"a short one stays":                   {text: "abc", want: "abc"},
		"one that just fits stays":            {text: "abcdefgh", want: "abcdefgh"},
		"a long one ends in an ellipsis":      {text: "abcdefghi", want: "abcdefg…"},
		"Japanese takes two columns":          {text: "例示省の発表", want: "例示省…"},
		"Japanese that just fits stays":       {text: "例示省は", want: "例示省は"},
		"a wide one at the border goes whole": {text: "abcdefg例示", want: "abcdefg…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cut(test.text, 8); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
