// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// R6.3: each namespace belongs to one shard, and to the same one in every version: else two replicas would work on it while one is replaced by the next.
func TestTheShardOfANamespaceNeverChanges(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string][3]int{ // of 2, 4 and 7
		"default": {0, 2, 6}, "news": {0, 2, 5}, "team-a": {1, 3, 6}, "": {1, 1, 6},
	} {
		if got := [3]int{Of(namespace, 2), Of(namespace, 4), Of(namespace, 7)}; got != want {
			t.Errorf("%q is in the shards %v, want %v", namespace, got, want)
		}
		if got := Of(namespace, 1); got != 0 {
			t.Errorf("%q is in shard %d of 1", namespace, got)
		}
	}
}

// R6.3: namespaces are spread evenly, also those whose names differ in a number only.
func TestNamespacesAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	const namespaces = 10_000
	for _, count := range []int{2, 3, 4, 8, 16, Most} {
		each := make([]int, count)
		for i := range namespaces {
			each[Of(fmt.Sprintf("tenant-%d", i), count)]++
		}
		mean := namespaces / count
		if least, most := slices.Min(each), slices.Max(each); least < mean*7/10 || most > mean*13/10 {
			t.Errorf("of %d shards the smallest has %d namespaces and the largest %d", count, least, most)
		}
	}
}

// R6.3: the name of a Lease says what it is of, and nothing else does.
func TestLeasesAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	for count := 1; count <= Most; count++ {
		for index := range count {
			gotIndex, gotCount, ok := ParseLeaseName(LeaseName(index, count))
			if gotIndex != index || gotCount != count || !ok {
				t.Fatalf("%s is read as %d of %d, %t", LeaseName(index, count), gotIndex, gotCount, ok)
			}
		}
		if got, ok := parseMemberName(MemberName("host_1", count)); got != count || !ok {
			t.Fatalf("%s is read as of %d, %t", MemberName("host_1", count), got, ok)
		}
	}
	for _, name := range []string{
		"", "other", "feed-operator-shard-4-of-4", "feed-operator-shard-0-of-1", "feed-operator-shard-00-of-4", "feed-operator-shard-0-of-4-x",
		MemberName("host_1", 4),
	} {
		if index, count, ok := ParseLeaseName(name); ok {
			t.Errorf("%q is read as %d of %d", name, index, count)
		}
	}
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const good = 15 * time.Second

// held is a Lease that a replica has renewed for the nth time.
func held(name, holder string, n int) Lease {
	return Lease{Name: name, Holder: holder, Version: fmt.Sprint(holder, n), Duration: good}
}

// R6.3: a Lease has run out when it was seen unchanged for as long as it is good, whatever times are written on it.
func TestALeaseRunsOutWhenNobodyRenewsIt(t *testing.T) {
	t.Parallel()
	board := NewBoard("a", 2)
	name := LeaseName(1, 2)
	for _, step := range []struct {
		after  time.Duration
		lease  Lease
		holder string
		free   time.Duration
	}{
		{0, held(name, "b", 1), "b", 0},
		{good - 1, held(name, "b", 1), "b", 0},
		{good, held(name, "b", 1), "", 0},
		{good + 3*time.Second, held(name, "b", 1), "", 3 * time.Second},
		{good + 4*time.Second, held(name, "b", 2), "b", 0},                                        // it was only late
		{good + 5*time.Second, held(name, "", 3), "", 0},                                          // it was given back
		{good + 7*time.Second, held(name, "", 3), "", 2 * time.Second},                            // nobody has taken it
		{good + 8*time.Second, Lease{Name: name, Holder: "c", Version: "c", Duration: 1}, "c", 0}, // its duration is its own
		{good + 9*time.Second, Lease{Name: name, Holder: "c", Version: "c", Duration: 1}, "", time.Second - 1},
	} {
		now := start.Add(step.after)
		board.Look([]Lease{step.lease}, now)
		if v := board.View(now); v.Holders[1] != step.holder || v.FreeFor[1] != step.free || v.Versions[1] != step.lease.Version {
			t.Errorf("after %s: held by %q, free for %s, version %q", step.after, v.Holders[1], v.FreeFor[1], v.Versions[1])
		}
	}
}

// R6.3: while a Lease of another number of shards is held, nobody takes one; and after that a shard is first left to those who hold too few.
func TestNobodyActsWhileOthersHoldAnotherNumberOfShards(t *testing.T) {
	t.Parallel()
	board, old, looks := NewBoard("a", 4), LeaseName(0, 1), 0
	look := func(after time.Duration, leases ...Lease) View {
		looks++
		board.Look(append(leases, held(MemberName("b", 4), "b", looks)), start.Add(after))
		return board.View(start.Add(after))
	}
	if v := look(0, held(old, "x", 1)); v.Rival != old || !v.FewerShards || v.MayTake("a", 0, 0) {
		t.Errorf("while the old one works: %+v", v)
	}
	if v := look(good-1, held(old, "x", 1)); v.MayTake("a", 0, 0) {
		t.Errorf("before its Lease has run out: %+v", v)
	}
	if v := look(good, held(old, "x", 1)); v.Rival != "" || !v.MayTake("a", 0, 1) || v.MayTake("a", 0, 2) {
		t.Errorf("after that: %+v", v)
	}
	if v := look(good+Unwanted, held(old, "x", 1)); !v.MayTake("a", 0, 2) {
		t.Errorf("when nobody else wants it: %+v", v)
	}
	if v := look(2*good, held(LeaseName(3, 8), "y", 1)); v.FewerShards || v.Rival == "" {
		t.Errorf("when others have more shards: %+v", v)
	}
	// What was read a moment ago counts, unless it is known to have run out.
	for name, test := range map[string]struct {
		lease Lease
		want  bool
	}{
		"is held":                     {held(LeaseName(3, 8), "y", 2), true},
		"was seen a moment ago":       {held(LeaseName(3, 8), "y", 1), true},
		"was given back":              {held(LeaseName(3, 8), "", 2), false},
		"is of the same number":       {held(LeaseName(3, 4), "y", 2), false},
		"is none of a shard":          {held(MemberName("y", 8), "y", 2), false},
		"was never seen, but is held": {held(LeaseName(0, 1), "z", 1), true},
	} {
		if got := board.RivalIn([]Lease{test.lease}, start.Add(2*good)); (got != "") != test.want {
			t.Errorf("a Lease that %s: rival %q", name, got)
		}
	}
	if got := board.RivalIn([]Lease{held(LeaseName(3, 8), "y", 1)}, start.Add(3*good)); got != "" {
		t.Errorf("a Lease that has run out: rival %q", got)
	}
}

// R6.3: what a replica that was killed has left is removed, and nothing that anybody may still need.
func TestLeasesOfThoseWhoAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	board := NewBoard("a", 4)
	leases := []Lease{
		held(MemberName("gone", 4), "gone", 1), held(MemberName("gone", 2), "gone", 1), held(LeaseName(0, 1), "gone", 1), held(LeaseName(1, 2), "", 1),
		held(LeaseName(2, 4), "gone", 1), held("somebody-elses", "gone", 1),
	}
	var got []string
	for after := time.Duration(0); after <= good+forgottenAfter; after += time.Second {
		board.Look(append(leases, held(MemberName("here", 4), "here", int(after/good))), start.Add(after))
		if got = board.Forgotten(start.Add(after)); after < forgottenAfter && len(got) > 0 {
			t.Errorf("after %s %v are forgotten", after, got)
		}
	}
	want := []string{leases[0].Name, leases[1].Name, leases[2].Name, leases[3].Name}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v are forgotten, want %v", got, want)
	}
}

// R6.3: a replica knows who holds too few, and since when each is there: also one that has come back under a name that was another's.
func TestAReplicaKnowsWhoHoldsTooFewAndSinceWhen(t *testing.T) {
	t.Parallel()
	v := View{Holders: []string{"more", "more", "less", ""}, Members: []string{"less", "more", "none"}}
	for me, want := range map[string][]string{"more": {"none"}, "none": nil} {
		if got := v.OthersShort(me); !slices.Equal(got, want) {
			t.Errorf("%q hold less than their share beside %s, want %q", got, me, want)
		}
	}
	board, name := NewBoard("a", 4), MemberName("b", 4)
	for second, lease := range []Lease{held(name, "b", 1), held(name, "b", 2), held(name, "b", 2), held(name, "c", 3), held(name, "c", 4)} {
		now := start.Add(time.Duration(second) * time.Second)
		board.Look([]Lease{lease}, now)
		want := map[string]time.Time{"b": start}
		if second >= 3 {
			want = map[string]time.Time{"c": start.Add(3 * time.Second)}
		}
		if got := board.View(now).Joined; !maps.Equal(got, want) {
			t.Errorf("after %d s others are there since %v, want %v", second, got, want)
		}
	}
}

// R6.3: shares come out even, whoever holds what; and nobody gives up a shard for another one to have as many as it.
func TestSharesAreEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count, members := rapid.IntRange(1, Most).Draw(t, "shards"), rapid.IntRange(1, 12).Draw(t, "members")
		v := View{Holders: make([]string, count)}
		for m := range members {
			v.Members = append(v.Members, fmt.Sprint("member-", m))
		}
		for i := range v.Holders {
			v.Holders[i] = rapid.SampledFrom(append(v.Members, "", "gone")).Draw(t, "holder")
		}
		sum, spread := 0, v.Spread()
		for member, share := range v.Shares() {
			sum += share
			if share < count/members || share > (count+members-1)/members {
				t.Errorf("%s has a share of %d of %d shards with %d members", member, share, count, members)
			}
			if spread[member] <= count/members && len(v.Surplus(member, make([]int, spread[member]))) > 0 {
				t.Errorf("%s holds %d, and is to give up some", member, spread[member])
			}
		}
		if sum != count {
			t.Errorf("shares of %d in all, of %d shards", sum, count)
		}
	})
}

// town is some replicas, each with a board of its own, and the Leases that they all see. It is the arithmetic alone: what each does when it looks.
type town struct {
	now    time.Time
	leases map[string]Lease
	writes int
	boards map[string]*Board
	counts map[string]int
}

func (w *town) add(name string, count int) {
	w.boards[name], w.counts[name] = NewBoard(name, count), count
}

func (w *town) write(name, holder string) {
	w.writes++
	w.leases[name] = Lease{Name: name, Holder: holder, Version: fmt.Sprint(w.writes), Duration: good}
}

// look has a replica look and act as shardlease does.
func (w *town) look(me string) {
	board, count := w.boards[me], w.counts[me]
	w.write(MemberName(me, count), me)
	leases := make([]Lease, 0, len(w.leases))
	for _, lease := range w.leases {
		leases = append(leases, lease)
	}
	board.Look(leases, w.now)
	view := board.View(w.now)
	var mine []int
	for i, holder := range view.Holders {
		if holder == me {
			mine = append(mine, i)
		}
	}
	for _, i := range view.Surplus(me, mine) {
		w.write(LeaseName(i, count), "")
		mine = slices.DeleteFunc(mine, func(held int) bool { return held == i })
	}
	for _, i := range mine {
		w.write(LeaseName(i, count), me)
	}
	for i := range view.Holders {
		if !slices.Contains(mine, i) && view.MayTake(me, i, len(mine)) {
			w.write(LeaseName(i, count), me)
			mine = append(mine, i)
		}
	}
}

// leave has a replica go: at once, or after it has given everything back.
func (w *town) leave(me string, killed bool) {
	if !killed {
		delete(w.leases, MemberName(me, w.counts[me]))
		for name, lease := range w.leases {
			if lease.Holder == me {
				w.write(name, "")
			}
		}
	}
	delete(w.boards, me)
	delete(w.counts, me)
}

// holders are those who hold shards, by the number of shards that they were started with.
func (w *town) holders() map[int]map[string]int {
	all := map[int]map[string]int{}
	for name, lease := range w.leases {
		_, count, is := ParseLeaseName(name)
		if _, alive := w.counts[lease.Holder]; is && alive {
			if all[count] == nil {
				all[count] = map[string]int{}
			}
			all[count][lease.Holder]++
		}
	}
	return all
}

// R6.3: replicas that come, stop and are killed in any order, with any numbers of shards, come to hold all shards of one number, evenly; and never does
// one act on shards of a number while another one acts on those of another.
func TestReplicasComeToAnEvenSpread(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &town{now: start, leases: map[string]Lease{}, boards: map[string]*Board{}, counts: map[string]int{}}
		pass := func(seconds int) {
			for range seconds {
				w.now = w.now.Add(time.Second)
				names := make([]string, 0, len(w.boards))
				for name := range w.boards {
					names = append(names, name)
				}
				slices.Sort(names)
				for _, name := range rapid.Permutation(names).Draw(t, "order") {
					w.look(name)
					if all := w.holders(); len(all) > 1 {
						t.Fatalf("shards of different numbers are held: %v", all)
					}
				}
			}
		}
		for step := range rapid.IntRange(1, 8).Draw(t, "steps") {
			if len(w.boards) > 0 && rapid.Bool().Draw(t, "leaves") {
				names := make([]string, 0, len(w.boards))
				for name := range w.boards {
					names = append(names, name)
				}
				slices.Sort(names)
				w.leave(rapid.SampledFrom(names).Draw(t, "who"), rapid.Bool().Draw(t, "killed"))
			} else {
				w.add(fmt.Sprint("replica-", step), rapid.SampledFrom([]int{1, 2, 4, 5}).Draw(t, "shards"))
			}
			pass(rapid.IntRange(0, 20).Draw(t, "seconds"))
		}
		if len(w.boards) == 0 {
			return
		}
		pass(60)
		all := w.holders()
		if len(all) != 1 {
			t.Fatalf("shards of %d numbers are held", len(all))
		}
		for count, each := range all {
			members, sum := 0, 0
			for _, of := range w.counts {
				if of == count {
					members++
				}
			}
			for name, holding := range each {
				sum += holding
				if holding > (count+members-1)/members {
					t.Errorf("%s holds %d of %d shards, of %d replicas", name, holding, count, members)
				}
			}
			if sum != count {
				t.Errorf("%d of %d shards are held: %v", sum, count, each)
			}
		}
	})
}
