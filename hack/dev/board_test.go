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

	source := newSource(metav1.ConditionTrue, "Reads news")
	b.sawReady(source, source.Status.Conditions, noon)
	b.sawItem(newItem("one", v1alpha1.PhaseUnprocessed), noon)
	b.sawItem(newItem("one", v1alpha1.PhaseUnprocessed), noon.Add(time.Second))
	deferred := newItem("one", v1alpha1.PhaseDeferred)
	deferred.Status.Reason = v1alpha1.ReasonDownloadFailed
	deferred.Status.Failure = &v1alpha1.Failure{Message: "The server answered 503."}
	deferred.Status.NextRetryTime = &metav1.Time{Time: noon.Add(7 * time.Second)}
	b.sawItem(deferred, noon.Add(2*time.Second))
	again := newSource(metav1.ConditionTrue, "Reads news, still")
	b.sawReady(again, again.Status.Conditions, noon.Add(3*time.Second))
	b.sawItem(newItem("one", v1alpha1.PhaseProcessed), noon.Add(8*time.Second))

	want := `TIME      NAME                PHASE        REASON              TITLE
12:00:00  news                Ready        Succeeded           Reads news
12:00:00  news                Unprocessed                      Title of one
12:00:02  news                Deferred     DownloadFailed      Title of one
          └ The server answered 503. Next retry at 12:00:07.
12:00:08  news                Processed                        Title of one
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheBoardTellsWhyADestinationIsNotReady(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := newBoard(&out)
	missing := `Secret "mastodon" has no key "accessToken", or it is empty. A message is shown to its end.`
	b.sawReady(&v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Name: "mastodon", UID: "mastodon"}}, []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCredentialsMissing, Message: missing},
	}, noon)
	want := `TIME      NAME                PHASE        REASON              TITLE
12:00:00  mastodon            Not ready    CredentialsMissing
          └ ` + missing + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheBoardSaysWhereAnItemWasPostedWhenNothingElseDoes(t *testing.T) {
	t.Parallel()
	item := newItem("one", v1alpha1.PhaseProcessed)
	item.Status.Deliveries = []v1alpha1.Delivery{
		{Destination: "mastodon", State: v1alpha1.DeliveryDone, URL: "https://mastodon.example/@press/1"},
		{Destination: "chat", State: v1alpha1.DeliveryDone}}
	for _, links := range []bool{true, false} {
		var out strings.Builder
		b := newBoard(&out)
		b.postLinks = links
		b.sawItem(item, noon)
		if strings.Contains(out.String(), "└ Posted: https://mastodon.example/@press/1") != links || strings.Count(out.String(), "Posted:") > 1 {
			t.Errorf("%v: %s", links, out.String())
		}
	}
}

func TestTheBoardTellsWhatAnItemWaitsFor(t *testing.T) {
	t.Parallel()
	item := newItem("one", v1alpha1.PhasePending)
	item.Status.Reason = v1alpha1.ReasonWaiting
	item.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Message: `Waits for FeedDestination "mastodon": it is suspended`}}
	if got, want := whyItem(item), `Waits for FeedDestination "mastodon": it is suspended.`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheBoardTellsWhyAnArticleWasScreenedOut(t *testing.T) {
	t.Parallel()
	item := newItem("one", v1alpha1.PhaseDeferred)
	item.Status.Screening = &v1alpha1.Screening{Complete: true, Provider: "gemini", Explanation: "It announces a meeting."}
	item.Status.NextRetryTime = &metav1.Time{Time: noon}
	if got, want := whyItem(item), "gemini says: It announces a meeting. Next retry at 12:00:00."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheFirstItemsAreDoneWhenOneIsProcessedAndAllWereTried(t *testing.T) {
	t.Parallel()
	b := newBoard(&strings.Builder{})
	late := false
	check := func(want bool, when string) {
		t.Helper()
		if got := b.firstItemsDone(late); got != want {
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
	b.saw(newItem("four", v1alpha1.PhasePending))
	check(false, "with one that waits to be posted")
	late = true
	check(true, "when that takes long")
}
