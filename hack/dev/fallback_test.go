// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

func writtenBy(name, provider string, failed ...string) *v1alpha1.FeedItem {
	item := newItem(name, v1alpha1.PhasePending)
	item.Status.Summary = &v1alpha1.Summary{Text: "It says this.", Provider: provider}
	for _, other := range failed {
		item.Status.ProviderFailures = append(item.Status.ProviderFailures,
			v1alpha1.ProviderFailure{Name: other, Category: v1alpha1.CategoryRateLimit, Count: 1})
	}
	return item
}

func newProvider(name string, status metav1.ConditionStatus, reason, message string) *v1alpha1.AIProvider {
	provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "provider"}}
	provider.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}}
	return provider
}

// R3.6: it is said who wrote a summary, and why not those who come first.
func TestWhoWroteASummaryAndWhy(t *testing.T) {
	t.Parallel()
	chain := []string{"claude", "gpt", "built-in"}
	for name, test := range map[string]struct {
		item  *v1alpha1.FeedItem
		chain []string
		want  string
	}{
		"the first":                          {writtenBy("one", "claude"), chain, "Summarized by claude."},
		"the first, after it failed":         {writtenBy("one", "claude", "claude"), chain, "Summarized by claude."},
		"the next, because the first failed": {writtenBy("one", "gpt", "claude"), chain, "Summarized by gpt, because claude failed (RateLimit)."},
		"the next, because the first was not asked": {
			writtenBy("one", "gpt"), chain, "Summarized by gpt, because claude was unavailable.",
		},
		"the last": {
			writtenBy("one", "built-in", "gpt"), chain, "Summarized by built-in, because claude was unavailable and gpt failed (RateLimit).",
		},
		"one that the source names no more": {writtenBy("one", "gemini", "claude"), chain, "Summarized by gemini."},
		"where no provider is named":        {writtenBy("one", "extractive (built in)"), nil, "Summarized by extractive (built in)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := whoWrote(test.item, test.chain); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheBoardShowsOnceWhoWroteASummary(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := newBoard(&out)
	source := newSource(metav1.ConditionTrue, "Reads news")
	source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "claude"}, {Name: "gpt"}}
	b.sawChain(source)
	b.sawItem(newItem("one", v1alpha1.PhasePending), noon)
	b.sawItem(writtenBy("one", "gpt", "claude"), noon)
	done := writtenBy("one", "gpt", "claude")
	done.Status.Phase = v1alpha1.PhaseProcessed
	b.sawItem(done, noon.Add(time.Second))
	want := `TIME      NAME                PHASE        REASON              TITLE
12:00:00  news                Pending                          Title of one
12:00:00  news                Pending                          Title of one
          └ Summarized by gpt, because claude failed (RateLimit).
12:00:01  news                Processed                        Title of one
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// A pause of less than a minute leaves a provider Ready, and is shown all the same.
func TestTheBoardShowsUntilWhenAProviderIsNotCalled(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := newBoard(&out)
	ready := newProvider("claude", metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Summarizes with claude-haiku-4-5")
	pausing := ready.DeepCopy()
	pausing.Status.Availability = &v1alpha1.Availability{State: "CoolingDown", Until: &metav1.Time{Time: noon.Add(8 * time.Second)}, Failures: 1}
	pausing.Status.LastFailure = &v1alpha1.Failure{Message: "It was asked too often."}
	open := newProvider("claude", metav1.ConditionFalse, v1alpha1.ReasonCircuitOpen, "Failed 5 times in a row")
	open.Status.Availability = &v1alpha1.Availability{State: "CircuitOpen", Until: &metav1.Time{Time: noon.Add(70 * time.Second)}, Failures: 5}
	suspended := newProvider("claude", metav1.ConditionFalse, v1alpha1.ReasonSuspended, "Suspended: nothing is asked")

	for _, seen := range []struct {
		provider *v1alpha1.AIProvider
		after    time.Duration
	}{
		{ready, 0}, {pausing, 0}, {pausing, time.Second},
		{pausing, 7 * time.Second}, // its status was written for something else, and the pause is over
		{open, 10 * time.Second}, {suspended, 80 * time.Second},
	} {
		b.sawProvider(seen.provider, noon.Add(seen.after))
	}
	want := `TIME      NAME                PHASE        REASON              TITLE
12:00:00  claude              Ready        Succeeded           Summarizes with claude-haiku-4-5
12:00:00  claude              Ready        CoolingDown         Paused until 12:00:08
          └ It was asked too often.
12:00:07  claude              Ready        Succeeded           Summarizes with claude-haiku-4-5
12:00:10  claude              Not ready    CircuitOpen         Paused until 12:01:10, after 5 failures in a row
          └ Failed 5 times in a row
12:01:20  claude              Not ready    Suspended
          └ Suspended: nothing is asked
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
