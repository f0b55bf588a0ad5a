// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

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
	var watched watchedSources
	watched.of(source("first", began.Add(-time.Hour), began.Add(-time.Minute)), began)

	passed := 0
	for i := range 1000 {
		old := source(string(rune('a'+i%26))+time.Duration(i).String(), began.Add(-time.Hour), began.Add(-30*time.Minute))
		want := polling.NextSlot(string(old.UID), time.Minute, began)
		if due := watched.of(old, seen).due(old, time.Time{}); !due.Equal(want) {
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
