// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R5.4: what changes by time alone, such as the hour of the chart, a pause that ends and the next poll of a source that was never read, changes on a
// person's page at moments that do not depend on what happens in namespaces that they do not see.
func TestWhatTimeChangesDoesNotTellOfOthers(t *testing.T) {
	t.Parallel()
	var seen [2][]string
	for happens := range 2 {
		objects := twoTenants()
		paused := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "pauses"}}
		paused.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Succeeded", Message: "Answers"}}
		paused.Status.Availability = &v1alpha1.Availability{State: "CoolingDown", Until: new(metav1.NewTime(noon.Add(time.Hour - 3*time.Second)))}
		unread := aSource("a", "unread", func(source *v1alpha1.FeedSource) { source.Status = v1alpha1.FeedSourceStatus{} })
		w := newWorld(t, withAuth, append(objects, paused, unread)...)
		w.may["of-a"] = []string{"list feeditems a"}
		w.pass(time.Hour - 8*time.Second)
		first := w.see("/", bearer...)
		same := strings.NewReplacer(first.form(), "", first.all("main", "data-version")[0], "")
		for second := range 14 {
			w.mu.Lock()
			w.now, w.passed = w.now.Add(time.Second), w.passed+time.Second
			w.mu.Unlock()
			if item := w.item("b", "dead-b"); happens == 1 && second%3 == 0 {
				w.board.hear(&item)
			}
			for _, path := range []string{"/", "/sources", "/sources/a/unread"} {
				seen[happens] = append(seen[happens], same.Replace(w.see(path, bearer...).Body.String()))
			}
		}
	}
	for i, quiet := range seen[0] {
		if quiet == seen[1][i] {
			continue
		}
		was, is := strings.Split(quiet, "\n"), strings.Split(seen[1][i], "\n")
		for at := range min(len(was), len(is)) {
			if was[at] != is[at] && len(was[at]) < 2000 {
				t.Fatalf("after %d seconds it can be told that something has happened:\n%s\n%s", i/3+1, was[at], is[at])
			}
		}
		t.Fatalf("after %d seconds it can be told that something has happened", i/3+1)
	}
}

// R5.4: how long it takes until a person is told of what they have changed themselves says nothing about whether something else has changed just before,
// in a namespace that they do not see.
func TestHowSoonAChangeIsToldDoesNotTellOfOthers(t *testing.T) {
	t.Parallel()
	objects := newWorld(t, nil, twoTenants()...).client
	told := func(others bool) (after []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			board := NewBoard(objects, time.Now)
			news, stop := board.Watch()
			taken := func() time.Time {
				snapshot, err := board.Current(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return snapshot.Taken
			}
			taken()
			time.Sleep(5*time.Second + 100*time.Millisecond)
			for _, into := range []time.Duration{300 * time.Millisecond, 700 * time.Millisecond, 1900 * time.Millisecond} {
				if others {
					board.Changed()
				}
				time.Sleep(into)
				began, next := time.Now(), news()
				board.Changed() // by the person
				for <-next; taken().Before(began); <-next {
					next = news()
				}
				after = append(after, time.Since(began))
				time.Sleep(3 * time.Second)
			}
			stop()
			synctest.Wait()
		})
		return after
	}
	if alone, amid := told(false), told(true); !slices.Equal(alone, amid) {
		t.Errorf("it is told after %s, and after %s where others have changed something just before", alone, amid)
	}
}
