// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// R1.3: after a start it takes a moment until thousands of sources are seen. The poll times that pass
// meanwhile are not missed.
func TestAPollTimeThatPassesDuringTheStartIsKept(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	seen := began.Add(2 * time.Second)
	source := func(name string, created, polled time.Time) *v1alpha1.FeedSource {
		s := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{
			Namespace: "news", Name: name, UID: types.UID(name), Generation: 1, CreationTimestamp: metav1.Time{Time: created},
		}}
		s.Spec.Interval = &metav1.Duration{Duration: time.Minute}
		s.Status.ObservedGeneration = 1
		s.Status.LastPollTime = &metav1.Time{Time: polled}
		return s
	}
	var watched sourceStates
	watched.of(source("first", began.Add(-time.Hour), began.Add(-time.Minute)), began)

	passed := 0
	for i := range 1000 {
		old := source(string(rune('a'+i%26))+time.Duration(i).String(), began.Add(-time.Hour), began.Add(-30*time.Minute))
		want := polling.NextSlot(string(old.UID), time.Minute, began)
		if due := watched.of(old, seen).due(old, time.Time{}, seen); !due.Equal(want) {
			t.Fatalf("%s is polled at %s, and not at its time %s", old.Name, due, want)
		}
		if want.Before(seen) {
			passed++
		}
	}
	if passed == 0 {
		t.Error("no poll time has passed during the start: nothing was tried")
	}

	later := source("later", seen.Add(time.Hour), time.Time{})
	if got := watched.of(later, seen.Add(time.Hour)).firstSeen; !got.Equal(seen.Add(time.Hour)) {
		t.Errorf("a source that was made later is polled from %s on", got)
	}
}

// R1.3: how rarely a feed changes, as it declares itself, holds from the poll on that has read it: the cache may not have heard yet of what was written.
func TestAFeedIsPolledAsRarelyAsItHasJustDeclared(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{
		Namespace: "news", Name: "rare", UID: "rare", Generation: 1, CreationTimestamp: metav1.Time{Time: noon},
	}}
	source.Spec.Interval = &metav1.Duration{Duration: time.Minute}
	for name, test := range map[string]struct {
		interval    time.Duration // that this process knows of
		failures    int32
		least, most time.Duration
	}{
		"it has declared nothing":               {time.Minute, 0, 0, time.Minute},
		"it has declared two hours":             {2 * time.Hour, 0, 108 * time.Minute, 4 * time.Hour},
		"it has, and the status says it failed": {2 * time.Hour, 1, 2 * time.Minute, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := source.DeepCopy()
			if read.Status.ConsecutiveFailures = test.failures; test.failures > 0 {
				read.Status.LastPollTime = &metav1.Time{Time: noon}
			}
			state := &sourceState{interval: test.interval, lastPoll: noon, firstSeen: noon, generation: 1}
			if due := state.due(read, time.Time{}, noon.Add(time.Second)).Sub(noon); due < test.least || due > test.most {
				t.Errorf("it is polled after %s, want %s to %s", due, test.least, test.most)
			}
		})
	}
}

// R5.1: counts are written once a minute at most, and new items are counted within a minute, also where
// there are new ones all the time.
func TestNewItemsAreCountedWithinAMinute(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		watched *sourceState
		settled bool
		want    time.Time
	}{
		"settled, and counted long ago":     {&sourceState{countsWritten: at(-300), countsStaleSince: noon}, true, at(-240)},
		"settled, and counted just now":     {&sourceState{countsWritten: at(-10), countsStaleSince: noon}, true, at(50)},
		"not settled, and counted long ago": {&sourceState{countsWritten: at(-300), countsStaleSince: noon}, false, at(60)},
		"not settled, and counted just now": {&sourceState{countsWritten: at(-10), countsStaleSince: noon}, false, at(60)},
		"not settled, and none is new":      {&sourceState{countsWritten: at(-10)}, false, at(50)},
		"the first ones, settled":           {&sourceState{countsStaleSince: noon}, true, time.Time{}.Add(countsInterval)},
		"the first ones, not settled":       {&sourceState{countsStaleSince: noon}, false, at(60)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 { // what comes later does not put it off
				if got := test.watched.nextCountsWrite(test.settled); !got.Equal(test.want) {
					t.Errorf("they may be written at %s, want %s", got, test.want)
				}
				if !test.watched.countsStaleSince.IsZero() {
					test.watched.noteCreated(1, at(30), at(31))
				}
			}
		})
	}
}
