// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/overview"
	"github.com/feed-operator/feed-operator/internal/polling"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// overviewOf returns what is said of a source, after its header.
func overviewOf(t *testing.T, source v1alpha1.FeedSource) string {
	t.Helper()
	var out strings.Builder
	if err := overview.Write(&out, overview.State{Sources: []v1alpha1.FeedSource{source}, Now: now}); err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(out.String(), "\n")
	return said
}

// R5.1: a source that is ready may need a person all the same.
func TestWhatNeedsAPersonIsTold(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		v1alpha1.ConditionCreationPaused, v1alpha1.ConditionDamaged, v1alpha1.ConditionMemoryRebuilt,
		v1alpha1.ConditionNotificationsBlocked, v1alpha1.ConditionFiltersFailing, v1alpha1.ConditionIdentityShared,
	} {
		source := v1alpha1.FeedSource{}
		source.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Message: "Reads it"}, {Type: kind, Status: metav1.ConditionTrue, Message: "Look here"},
		}
		if said := overviewOf(t, source); !strings.Contains(said, "Reads it. Look here") {
			t.Errorf("%s: %s", kind, said)
		}
	}
}

// R5.1: a source that is new is told apart from one that no operator looks at.
func TestASourceThatIsNewIsNotOneThatNobodyHasSeen(t *testing.T) {
	t.Parallel()
	source := v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
	item := v1alpha1.FeedItem{Spec: v1alpha1.FeedItemSpec{SourceRef: v1alpha1.SourceReference{UID: "a"}}}
	for want, items := range map[string][]v1alpha1.FeedItem{
		"is it running?":                      nil,
		"its first items are being worked on": {item},
	} {
		var out strings.Builder
		if err := overview.Write(&out, overview.State{Sources: []v1alpha1.FeedSource{source}, Items: items, Now: now}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("with %d items it says %s", len(items), out.String())
		}
	}
}

// R1.2, R5.1: when a source is polled next is what the operator makes of the same status.
func TestTheNextPollIsThatOfTheOperator(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	polled := &metav1.Time{Time: now.Add(-10 * time.Minute)}
	failing := func(interval time.Duration) v1alpha1.FeedSource {
		source := v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{UID: "a", Generation: 1}}
		source.Status = v1alpha1.FeedSourceStatus{
			ObservedGeneration: 1, ConsecutiveFailures: 1, LastPollTime: polled, EffectiveInterval: &metav1.Duration{Duration: interval},
		}
		return source
	}
	stalled := func(reason, asked, handled string) v1alpha1.FeedSource {
		source := failing(time.Hour)
		source.Annotations = map[string]string{v1alpha1.AnnotationPoll: asked}
		source.Status.LastHandledPoll = handled
		source.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason}}
		return source
	}
	changed := func(source v1alpha1.FeedSource) v1alpha1.FeedSource {
		source.Generation++
		source.Status.NotBefore = &metav1.Time{Time: now.Add(5 * time.Hour)}
		return source
	}
	token := failing(time.Hour)
	token.Annotations = map[string]string{v1alpha1.AnnotationPoll: long}
	token.Status.LastHandledPoll = lifecycle.TokenOf(long)
	asked := failing(time.Hour)
	asked.Annotations = map[string]string{v1alpha1.AnnotationPoll: "again"}
	pause := failing(time.Hour)
	pause.Status.NotBefore = &metav1.Time{Time: now.Add(5 * time.Hour)}
	suspended := failing(time.Hour)
	suspended.Spec.Suspend = true
	declared := failing(24 * time.Hour)
	declared.Status.ConsecutiveFailures = 0
	nextDeclared := polling.NextSlot("a", 24*time.Hour, polled.Add(24*time.Hour*9/10)).Sub(now)
	unrecorded := failing(v1alpha1.DefaultInterval) // polls without news are written down once an hour
	unrecorded.Status.ConsecutiveFailures, unrecorded.Status.LastPollTime = 0, &metav1.Time{Time: now.Add(-50 * time.Minute)}
	next := polling.NextSlot("a", v1alpha1.DefaultInterval, now).Sub(now)
	for name, test := range map[string]struct {
		source v1alpha1.FeedSource
		want   string
	}{
		"after a failure, a whole interval later": {failing(time.Hour), "in 50m"},
		"never polled":                                      {v1alpha1.FeedSource{}, "now"},
		"a poll is asked for":                               {asked, "now"},
		"one with a long token was made":                    {token, "in 50m"},
		"the server asks for a pause":                       {pause, "in 5h"},
		"what another server has asked for does not count":  {changed(failing(time.Hour)), "now"},
		"a recorded interval that is too short is not used": {failing(time.Second), "in 5m"},
		"the feed says how long it will not change":         {declared, fmt.Sprintf("in %dh", int(nextDeclared.Hours()))},
		"polls without news":                                {unrecorded, fmt.Sprintf("in %dm", int(next.Minutes()))},
		"suspended":                                         {suspended, "suspended"},
		"gone":                                              {stalled(v1alpha1.ReasonFeedGone, "", ""), "never"},
		"gone, and a poll that was asked for is made":       {stalled(v1alpha1.ReasonFeedGone, "a", "a"), "never"},
		"gone, and a poll is asked for":                     {stalled(v1alpha1.ReasonFeedGone, "b", "a"), "now"},
		"gone, and the spec has changed":                    {changed(stalled(v1alpha1.ReasonFeedGone, "", "")), "now"},
		"a filter cannot work, whatever is asked for":       {stalled(v1alpha1.ReasonInvalidFilter, "b", "a"), "never"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if said := overviewOf(t, test.source); !strings.Contains(said, "   "+test.want+"   ") {
				t.Errorf("want %q in %s", test.want, said)
			}
		})
	}
}
