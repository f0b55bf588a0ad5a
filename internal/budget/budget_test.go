// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is a time that the test sets.
type clock struct{ now time.Time }

func newTestBudget() (*Budget, *clock) {
	c := &clock{now: time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)}
	return New(Default, func() time.Time { return c.now }), c
}

// fill grows documents of 1 MiB until there is no room, and returns how many found one.
func fill(b *Budget, owner string) (rooms []*Room) {
	for {
		room := b.Document(owner)
		if err := room.Grow(1 << 20); err != nil {
			return rooms
		}
		rooms = append(rooms, room)
	}
}

// R1.10: what is taken never comes to more than the budget, whoever takes it.
func TestAllTogetherStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	b, _ := newTestBudget()
	for _, owner := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		fill(b, owner)
		waiting := b.Waiting(owner)
		for more := true; more; {
			more = waiting.Grow(100<<10) == nil
		}
		if _, _, err := b.Document(owner).Work(t.Context(), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	u := b.Usage()
	if sum := u.Documents + u.Large + u.Waiting + b.work.size; sum > Default {
		t.Errorf("%d bytes are taken of %d", sum, Default)
	}
}

// R3.13: however much one namespace takes, another finds room at once, and in the end as much as the first.
func TestNobodyKeepsTheMemoryFullForOthers(t *testing.T) {
	t.Parallel()
	b, _ := newTestBudget()
	greedy := fill(b, "greedy")
	if alone := b.Usage().Documents; alone < b.documents.size/2-2<<20 {
		t.Errorf("alone, one has %d of %d bytes", alone, b.documents.size)
	}
	neighbour := fill(b, "neighbour")
	if len(neighbour) < 10 {
		t.Errorf("a newcomer finds room for %d MiB", len(neighbour))
	}
	for _, room := range greedy { // each document that ends makes room for one of the next
		room.Release()
		neighbour = append(neighbour, fill(b, "neighbour")...)
		fill(b, "greedy")
	}
	if held := b.documents.held; held["neighbour"] < held["greedy"]-2<<20 {
		t.Errorf("in the end they hold %d and %d bytes", held["neighbour"], held["greedy"])
	}
}

// R1.10: a document that is larger than what is left to its namespace gets its turn, one at a time, and those
// who ask for longest come first.
func TestTheLargeTakeTurns(t *testing.T) {
	t.Parallel()
	b, clock := newTestBudget()
	for _, owner := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		fill(b, owner)
	}
	b.large = reserve{} // it went to one of them
	const large = 10 << 20
	grow := func(owner string) (*Room, bool) {
		room := b.Document(owner)
		for range large >> 18 {
			if err := room.Grow(256 << 10); err != nil {
				room.Release()
				return nil, false
			}
		}
		return room, true
	}
	first, ok := grow("attacker")
	if !ok {
		t.Fatal("the first one finds no room")
	}
	for _, owner := range []string{"victim", "attacker", "other"} {
		if _, ok := grow(owner); ok {
			t.Fatalf("%s finds room beside the first", owner)
		}
		clock.now = clock.now.Add(time.Second)
	}
	first.Release()
	if _, ok := grow("attacker"); ok {
		t.Error("the attacker has the next turn as well")
	}
	second, ok := grow("victim")
	if !ok {
		t.Fatal("the victim does not get the next turn")
	}
	second.Release()
	clock.now = clock.now.Add(patience + time.Second)
	if _, ok := grow("other"); !ok {
		t.Error("who has given up is still waited for")
	}
}

// R3.13, R1.10: who asks for what no document may have, again and again, does not keep the others from their turns.
func TestWhoAsksForTooMuchKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	b, clock := newTestBudget()
	for _, owner := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		fill(b, owner)
	}
	b.large = reserve{} // it went to one of them
	if err := b.Document("attacker").Grow(Largest + 1); err == nil {
		t.Fatal("it finds room")
	}
	clock.now = clock.now.Add(time.Second)
	victim := b.Document("victim")
	if err := victim.Grow(Largest); err != nil {
		t.Errorf("a neighbour does not get the turn that the other cannot take: %v", err)
	}
	if err := victim.Grow(b.documents.size/2 + 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than all that one document may have: %v", err)
	}
}

// R1.10: what is merely too much now is not taken for what is too much for ever.
func TestWhatHasRoomLaterIsNotTooLarge(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{Min, Default} {
		b := New(size, time.Now)
		large := b.Document("a")
		if err := large.Grow(b.documents.size / 2); err != nil {
			t.Fatal(err)
		}
		if err := b.Document("a").Grow(Largest); err != nil {
			t.Fatal(err)
		}
		for _, bytes := range []int64{1, Largest, b.documents.size / 2} {
			if err := b.Document("a").Grow(bytes); !errors.Is(err, ErrFull) || errors.Is(err, ErrTooLarge) {
				t.Errorf("of %d MiB, %d bytes: %v", size>>20, bytes, err)
			}
		}
	}
}

// R1.10: what can never fit is refused, and what is more than all work gets all of it, alone.
func TestMoreThanThereIs(t *testing.T) {
	t.Parallel()
	b, _ := newTestBudget()
	room := b.Document("a")
	if err := room.Grow(Default); !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrFull) {
		t.Errorf("a document as large as the budget: %v", err)
	}
	if held := room.Held(); held != 0 {
		t.Errorf("it holds %d bytes", held)
	}
	granted, done, err := room.Work(t.Context(), Default)
	if err != nil || granted != room.Most() || b.Usage().Work != room.Most() {
		t.Errorf("work for more than there is: %d granted, %v", granted, err)
	}
	done()
	done() // again is no harm
	if left := b.Usage().Work; left != 0 {
		t.Errorf("%d bytes are not given back", left)
	}
}

// R1.6: who gives up waiting stands in nobody's way, and takes nothing.
func TestWhoGivesUpLeavesTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := newTestBudget()
		_, done, err := b.Document("a").Work(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := b.Document("b").Work(ctx, Default) // must wait
			ended <- err
		}()
		synctest.Wait()
		behind := make(chan func())
		go func() {
			_, done, _ := b.Document("c").Work(context.WithoutCancel(ctx), 1) // would fit, but has to wait behind it
			behind <- done
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		(<-behind)()
		done()
		if left := b.Usage().Work; left != 0 {
			t.Errorf("%d bytes are not given back", left)
		}
		if _, _, err := b.Document("d").Work(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("work was begun after the end: %v", err)
		}
	})
}

// R3.13: at the work, namespaces take turns, however many documents of one wait.
func TestNamespacesTakeTurnsAtTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := newTestBudget()
		_, done, err := b.Document("greedy").Work(t.Context(), Default)
		if err != nil {
			t.Fatal(err)
		}
		turns := make(chan string)
		begin := func(owner string) {
			go func() {
				_, done, err := b.Document(owner).Work(context.WithoutCancel(t.Context()), Default)
				if err != nil {
					t.Error(err)
				}
				turns <- owner
				done()
			}()
			synctest.Wait()
		}
		for range 10 {
			begin("greedy")
		}
		begin("neighbour")
		done()
		for i := range 11 {
			if owner := <-turns; (owner == "neighbour") != (i == 1) {
				t.Errorf("turn %d is that of %s", i+1, owner)
			}
		}
	})
}

// A nil Room counts nothing, for documents of nobody's.
func TestARoomThatCountsNothing(t *testing.T) {
	t.Parallel()
	var room *Room
	if err := room.Grow(Default); err != nil {
		t.Error(err)
	}
	room.Charge(1)
	room.Shrink(1)
	room.Release()
	granted, done, err := room.Work(t.Context(), Default)
	if err != nil || granted != Default || room.Held() != 0 || room.Most() < Default {
		t.Errorf("%d granted, %v", granted, err)
	}
	done()
}

// R3.13: documents are read elsewhere one at a time, and a namespace with many of them keeps others waiting for one. Who waits
// takes nothing of the work, and who gives up is passed over.
func TestTheReaderIsTakenInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := newTestBudget()
		first, err := b.Document("greedy").Reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ended, giveUp := context.WithCancel(t.Context())
		var order []string
		read := func(ctx context.Context, owner string) {
			done, err := b.Document(owner).Reader(ctx)
			if err != nil {
				return
			}
			order = append(order, owner)
			done()
		}
		for _, owner := range []string{"greedy", "greedy", "greedy", "neighbour"} {
			go read(t.Context(), owner)
			synctest.Wait()
		}
		go read(ended, "gone")
		synctest.Wait()
		if u := b.Usage(); u != (Usage{}) {
			t.Errorf("those who wait hold %+v", u)
		}
		giveUp()
		synctest.Wait()
		first()
		synctest.Wait()
		if diff := cmp.Diff([]string{"greedy", "neighbour", "greedy", "greedy"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}
