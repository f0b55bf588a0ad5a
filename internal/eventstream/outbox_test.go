// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(25) }

func to(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// sized is an event that takes 1,000 bytes.
func sized(id string) eventstream.Event {
	return eventstream.Event{ID: id, Body: strings.Repeat("x", 1000-96-len(id))}
}

// drained are the IDs of all that waits for a destination, which is sent.
func drained(box *eventstream.Outbox, key types.NamespacedName, of types.UID) (ids []string) {
	for {
		event, waits := box.Take(key, of)
		if !waits {
			return ids
		}
		ids = append(ids, event.ID)
		box.Sent(key, of)
	}
}

// fill puts as many events in, and returns how often somebody was to be woken.
func fill(box *eventstream.Outbox, key types.NamespacedName, n int) (woken int) {
	for i := range n {
		woken += len(box.Put(key, "1", sized(fmt.Sprintf("%s-%d", key.Name, i))))
	}
	return woken
}

// R3.11: events leave in order, each once; whoever sends them is woken for the first.
func TestEventsLeaveInOrder(t *testing.T) {
	t.Parallel()
	box, key := eventstream.NewOutbox(10_000), to("news", "a")
	if woken := fill(box, key, 3); woken != 1 {
		t.Errorf("woken %d times", woken)
	}
	if taken, _ := box.Take(key, "1"); taken.ID != "a-0" {
		t.Errorf("the first is %q", taken.ID)
	}
	if _, waits := box.Take(key, "1"); waits {
		t.Error("two are under way")
	}
	box.PutBack(key, "1")
	if diff := cmp.Diff([]string{"a-0", "a-1", "a-2"}, drained(box, key, "1")); diff != "" {
		t.Error(diff)
	}
	if _, waits := box.Due(key, noon); waits || len(box.Waiting()) != 0 {
		t.Error("something waits that was sent")
	}
}

// R3.11: what does not fit is dropped, the oldest first, but not what is under way; that is told at once, and then once in a while.
func TestTheOldestEventsAreDropped(t *testing.T) {
	t.Parallel()
	box, key := eventstream.NewOutbox(3_000), to("news", "a")
	fill(box, key, 1)
	box.Take(key, "1")
	if woken := fill(box, key, 5); woken != 1 {
		t.Errorf("woken %d times", woken)
	}
	lost, next := box.Losses(key, noon)
	if lost != (eventstream.Losses{NoRoom: 3}) || !next.IsZero() {
		t.Errorf("lost %+v, next %s", lost, next)
	}
	fill(box, key, 2)
	if lost, next := box.Losses(key, noon.Add(time.Minute)); lost.Sum() != 0 || !next.Equal(noon.Add(eventstream.TellEvery)) {
		t.Errorf("told again: %+v, next %s", lost, next)
	}
	if lost, _ := box.Losses(key, noon.Add(-time.Hour)); lost.NoRoom != 2 {
		t.Errorf("a clock that was set back: %+v", lost)
	}
	box.Sent(key, "1")
	if diff := cmp.Diff([]string{"a-0", "a-1"}, drained(box, key, "1")); diff != "" {
		t.Error(diff)
	}
}

// R3.11, R3.13: a namespace with many slow destinations takes nothing from another one that has less than its share.
func TestATenantLosesNothingToOthers(t *testing.T) {
	t.Parallel()
	box := eventstream.NewOutbox(10_000) // and 160 in all
	fill(box, to("modest", "m"), 10)
	for i := range 20 {
		fill(box, to("greedy", fmt.Sprint("g", i)), 10)
	}
	if got := drained(box, to("modest", "m"), "1"); len(got) != 10 {
		t.Errorf("%d are left: %v", len(got), got)
	}
	left := 0
	for i := range 20 {
		left += len(drained(box, to("greedy", fmt.Sprint("g", i)), "1"))
	}
	if left != 150 {
		t.Errorf("the other has %d", left)
	}
}

// R3.11, R3.13: what it takes to put an event in does not grow with the destinations of a namespace: with what would look at all of them each time,
// this would go on for a quarter of an hour, in which nobody else could put anything in.
func TestManyDestinationsTakeNoLongerThanFew(t *testing.T) {
	t.Parallel()
	const each = 5
	destinations := portion.Of(100_000, 30_000)
	box := eventstream.NewOutbox(eventstream.EachBytes)
	fill(box, to("modest", "m"), 10)
	event := sized("x")
	for range each {
		for i := range destinations {
			box.Put(to("greedy", strconv.Itoa(i)), "1", event)
		}
	}
	left := 0
	for i := range destinations {
		left += len(drained(box, to("greedy", strconv.Itoa(i)), "1"))
	}
	if most := eventstream.AllTimes*eventstream.EachBytes/1000 - 10; left != most {
		t.Errorf("%d are left of %d that have room", left, most)
	}
	if got := drained(box, to("modest", "m"), "1"); len(got) != 10 {
		t.Errorf("the other has %d", len(got))
	}
}

// R3.11: an event that fails is tried again later, five times, and then no longer holds up the others; one that is refused is dropped.
func TestAnEventIsNotTriedForever(t *testing.T) {
	t.Parallel()
	box, key, now := eventstream.NewOutbox(10_000), to("news", "a"), noon
	fill(box, key, 3)
	var waits []time.Duration
	for range eventstream.MaxCalls {
		if taken, _ := box.Take(key, "1"); taken.ID != "a-0" {
			t.Fatalf("%q is sent", taken.ID)
		}
		box.Failed(key, "1", now)
		at, _ := box.Due(key, now)
		waits = append(waits, at.Sub(now))
		now = at
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}, waits); diff != "" {
		t.Error(diff)
	}
	if at, _ := box.Due(key, now.Add(-time.Hour)); !at.IsZero() {
		t.Errorf("a clock that was set back makes it wait until %s", at)
	}
	box.Take(key, "1")
	box.Refused(key, "1")
	if lost, _ := box.Losses(key, now); lost != (eventstream.Losses{Refused: 2}) {
		t.Errorf("lost %+v", lost)
	}
	if diff := cmp.Diff([]string{"a-2"}, drained(box, key, "1")); diff != "" {
		t.Error(diff)
	}
}

// R3.11: what waits when nobody sends any more is told as lost, once, with what was lost before.
func TestWhatWaitsInTheEndIsLost(t *testing.T) {
	t.Parallel()
	box, key := eventstream.NewOutbox(3_000), to("news", "a")
	fill(box, key, 5) // and there is room for three
	box.Take(key, "1")
	box.Refused(key, "1")
	if lost := box.End(key); lost != (eventstream.Losses{NoRoom: 2, Refused: 1, Stopped: 2}) || lost.Sum() != 5 {
		t.Errorf("lost %+v", lost)
	}
	if lost := box.End(key); lost.Sum() != 0 || len(box.Waiting()) != 0 {
		t.Errorf("told again: %+v", lost)
	}
}

// R3.11: what was lost and is not told yet is told in the end, too, where nothing waits any more.
func TestWhatWasLostIsToldInTheEnd(t *testing.T) {
	t.Parallel()
	box, key := eventstream.NewOutbox(3_000), to("news", "a")
	fill(box, key, 1)
	box.Take(key, "1")
	box.Refused(key, "1")
	if waiting := box.Waiting(); len(waiting) != 1 {
		t.Errorf("named: %v", waiting)
	}
	if lost := box.End(key); lost != (eventstream.Losses{Refused: 1}) {
		t.Errorf("lost %+v", lost)
	}
}

// R3.11: a destination gets nothing of one that had its name before, and nothing is kept of one that is gone.
func TestADestinationBeginsWithNoEvents(t *testing.T) {
	t.Parallel()
	box, key := eventstream.NewOutbox(10_000), to("news", "a")
	fill(box, key, 2)
	box.Take(key, "1")
	if woken := box.Put(key, "2", sized("new")); len(woken) != 1 {
		t.Errorf("woken: %v", woken)
	}
	box.Sent(key, "1") // of the one before
	if diff := cmp.Diff([]string{"new"}, drained(box, key, "2")); diff != "" {
		t.Error(diff)
	}
	fill(box, key, 2)
	box.Forget(key)
	if _, waits := box.Take(key, "1"); waits {
		t.Error("something is left of what was forgotten")
	}
	for i := range eventstream.AllTimes { // all the room there is
		fill(box, to("other", fmt.Sprint(i)), 10)
	}
	for i := range eventstream.AllTimes {
		if got := drained(box, to("other", fmt.Sprint(i)), "1"); len(got) != 10 {
			t.Errorf("%d have room", len(got))
		}
	}
}

// R3.11: whatever happens, the bounds hold, each event is sent or told as lost, and what is left fits.
func TestTheBoundsOfEventsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const each = 3_000
		const all = each * eventstream.AllTimes
		box, now := eventstream.NewOutbox(each), noon
		var keys []types.NamespacedName
		for i := range 20 { // each has room for three: more than all have
			keys = append(keys, to(fmt.Sprint(i%7), fmt.Sprint(i)))
		}
		put, sent, lost := 0, 0, int64(0)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0, 1, 2, 6, 7:
				box.Put(key, "1", sized(fmt.Sprint(put)))
				put++
			case 3:
				if _, waits := box.Take(key, "1"); waits {
					box.Sent(key, "1")
					sent++
				}
			case 4:
				if _, waits := box.Take(key, "1"); waits {
					box.Failed(key, "1", now)
				}
			case 5:
				now = now.Add(eventstream.TellEvery)
				told, _ := box.Losses(key, now)
				lost += told.Sum()
			}
		}
		left := 0
		for _, key := range keys {
			here := len(drained(box, key, "1"))
			lost += box.End(key).Sum()
			if here*1000 > each {
				t.Errorf("%s has %d", key, here)
			}
			left += here
		}
		if left*1000 > all || put != sent+left+int(lost) {
			t.Errorf("%d put, %d sent, %d left, %d lost", put, sent, left, lost)
		}
	})
}
