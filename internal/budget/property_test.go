// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// R1.10, R3.13: whatever is taken and given back, in whatever order, the parts keep their sizes, nobody is granted more
// than they leave free, and nothing is left when all is given back.
func TestRoomsOfAllSortsKeepTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
		b := New(Default, func() time.Time { return now })
		owners := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		sizes := rapid.Int64Range(1, 12<<20)
		var rooms []*Room
		pick := func(t *rapid.T) *Room {
			if len(rooms) == 0 {
				t.Skip("there is none")
			}
			return rapid.SampledFrom(rooms).Draw(t, "room")
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) { rooms = append(rooms, b.Document(owners.Draw(t, "owner"))) },
			"wait":  func(t *rapid.T) { rooms = append(rooms, b.Waiting(owners.Draw(t, "owner"))) },
			"grow": func(t *rapid.T) {
				room, bytes := pick(t), sizes.Draw(t, "bytes")
				before, area := room.Held(), *room.area
				free := area.held[room.owner]+bytes <= area.size-area.used-bytes
				err := room.Grow(bytes)
				if err == nil && room.Held() != before+bytes || err != nil && (room.Held() != before || free) {
					t.Fatalf("it held %d, was asked for %d more, and holds %d: %v", before, bytes, room.Held(), err)
				}
			},
			"shrink":  func(t *rapid.T) { pick(t).Shrink(sizes.Draw(t, "bytes")) },
			"release": func(t *rapid.T) { pick(t).Release() },
			"pass":    func(t *rapid.T) { now = now.Add(time.Minute) },
			"": func(t *rapid.T) {
				var documents, waiting, large int64
				for _, room := range rooms {
					large += room.large
					if room.area == &b.documents {
						documents += room.held
					} else {
						waiting += room.held
					}
				}
				if u := b.Usage(); u != (Usage{Documents: documents, Large: large, Waiting: waiting}) {
					t.Fatalf("%+v are counted, %d, %d and %d are held", u, documents, large, waiting)
				}
				if documents > b.documents.size || waiting > b.waiting.size || large > Largest || (large > 0) != (b.large.holder != nil) {
					t.Fatalf("%d, %d and %d are held", documents, waiting, large)
				}
			},
		})
		for _, room := range rooms {
			room.Release()
		}
		if u := b.Usage(); u != (Usage{}) || len(b.documents.held) > 0 || len(b.waiting.held) > 0 {
			t.Fatalf("%+v are left", u)
		}
	})
}

// R1.10: whoever waits for work gets it in the end, whatever the others ask for and in whatever order they end or give
// up: nobody waits while nobody works, and nobody who needs much is passed over by those who need little.
func TestWorkIsNeverStuck(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &line{size: 1000}
		type work struct {
			*waiter
			owner string
		}
		var waiting, working []work
		served := func() {
			for i := 0; i < len(waiting); {
				select {
				case <-waiting[i].ready:
					working = append(working, waiting[i])
					waiting = append(waiting[:i], waiting[i+1:]...)
				default:
					i++
				}
			}
		}
		end := func(i int) {
			l.giveBack(working[i].bytes)
			working = append(working[:i], working[i+1:]...)
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				next := work{&waiter{bytes: rapid.Int64Range(0, l.size).Draw(t, "bytes"), ready: make(chan struct{})},
					rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner")}
				waiting = append(waiting, next)
				l.mu.Lock()
				l.enter(next.owner, next.waiter)
				l.grant()
				l.mu.Unlock()
			},
			"end": func(t *rapid.T) {
				if len(working) > 0 {
					end(rapid.IntRange(0, len(working)-1).Draw(t, "which"))
				}
			},
			"give up": func(t *rapid.T) {
				if len(waiting) > 0 {
					i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which")
					if !l.leave(waiting[i].owner, waiting[i].waiter) {
						t.Fatal("its turn has come, and nobody knows")
					}
					waiting = append(waiting[:i], waiting[i+1:]...)
				}
			},
			"": func(t *rapid.T) {
				served()
				var used int64
				for _, w := range working {
					used += w.bytes
				}
				if used != l.inUse() || used > l.size {
					t.Fatalf("%d are in use, %d are counted", used, l.inUse())
				}
				if len(waiting) > 0 && len(working) == 0 {
					t.Fatal("they wait, and nobody works")
				}
			},
		})
		for left := len(waiting) + len(working); left > 0; left-- {
			if served(); len(working) == 0 {
				t.Fatalf("%d wait for ever", len(waiting))
			}
			end(0)
		}
		if served(); len(waiting)+len(working) > 0 || len(l.owners) > 0 || len(l.lines) > 0 {
			t.Fatal("somebody is left in the line")
		}
	})
}
