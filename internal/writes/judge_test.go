// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/writes"
)

var start = time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)

// R3.14, R3.13: what is held up by which refusals. An event is "namespace/object verb", at one second after the other; in the
// end "all", or the namespaces that are held up.
func TestARefusalHoldsUpWhomItConcerns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events string
		held   string
	}{
		"nobody, at first":                                         {"", ""},
		"a refusal of one object holds up nobody":                  {"a/1 object", ""},
		"one of a namespace holds up that namespace":               {"a/1 namespace", "a"},
		"until one of its writes is taken":                         {"a/1 namespace, a/2 taken", ""},
		"also where that is the same object":                       {"a/1 namespace, a/1 taken", ""},
		"and not until another's is":                               {"a/1 namespace, b/1 taken", "a"},
		"what is about the server holds up all":                    {"a/1 server", "all a"},
		"until anything is taken, but for those that were refused": {"a/1 server, b/1 taken", "a"},
		"and they, until theirs is":                                {"a/1 server, b/1 taken, a/1 taken", ""},
		"what nobody can tell holds up the namespace":              {"a/1 unclear, a/2 unclear", "a"},
		"and all, where two have it":                               {"a/1 unclear, b/1 unclear", "all a b"},
		"but not with a write that was taken in between":           {"a/1 unclear, c/1 taken, b/1 unclear", "a b"},
		"a namespace that was mistaken for the server counts as one of its own": {
			"a/1 server, b/1 taken, a/1 server, a/2 server", "a"},
		"until one of its own is taken": {
			"a/1 server, b/1 taken, a/2 taken, a/3 server", "a all"},
		"an object that is refused while others are taken holds up nobody": {
			"a/1 namespace, a/2 taken, a/1 namespace, a/1 namespace", ""},
		"but others do that are refused after it": {
			"a/1 namespace, a/2 taken, a/1 namespace, a/3 namespace", "a"},
		"nor does one that is refused for the server's sake": {
			"a/1 server, a/2 taken, a/1 server", ""},
		"once it was taken, it counts again": {
			"a/1 namespace, a/2 taken, a/1 taken, a/1 namespace", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var judge writes.Judge
			now := start
			for event := range strings.SplitSeq(test.events, ", ") {
				now = now.Add(time.Second)
				play(&judge, event, now)
			}
			want := strings.Fields(test.held)
			slices.Sort(want)
			if got := heldUp(&judge); !slices.Equal(got, want) {
				t.Errorf("held up: %q, want %q", got, want)
			}
		})
	}
}

func play(judge *writes.Judge, event string, now time.Time) {
	at, verb, _ := strings.Cut(event, " ")
	namespace, object, _ := strings.Cut(at, "/")
	switch verb {
	case "taken":
		judge.Taken(namespace, object, now)
	case "object":
		judge.Refused(namespace, object, writes.Object, now)
	case "namespace":
		judge.Refused(namespace, object, writes.Namespace, now)
	case "unclear":
		judge.Refused(namespace, object, writes.Unclear, now)
	case "server":
		judge.Refused(namespace, object, writes.Server, now)
	}
}

func heldUp(judge *writes.Judge) []string {
	held := judge.Namespaces()
	if _, all := judge.Server(); all {
		held = append(held, "all")
	}
	slices.Sort(held)
	return held
}

// R3.14: the next try comes after a second, and then later each time, up to three quarters of a minute; refusals of what was sent
// together are one.
func TestTheNextTryComesLaterEachTime(t *testing.T) {
	t.Parallel()
	var judge writes.Judge
	now := start
	last := time.Duration(0)
	for try := range 12 {
		for object := range 10 {
			judge.Refused("a", fmt.Sprint(object), writes.Namespace, now)
		}
		until, held := judge.Namespace("a")
		wait := until.Sub(now)
		least, most := min(time.Second<<try, 30*time.Second), min(time.Second<<try, 30*time.Second)*3/2
		if !held || wait < least || wait > most {
			t.Errorf("after %d tries it waits for %s, want %s to %s", try+1, wait, least, most)
		}
		last = wait
		now = until
	}
	if last > 45*time.Second {
		t.Errorf("it waits for %s", last)
	}
	judge.Taken("a", "1", now)
	judge.Refused("a", "1", writes.Namespace, now.Add(time.Second))
	if until, _ := judge.Namespace("a"); until.Sub(now) < 30*time.Second {
		t.Errorf("what is taken and refused by turns is tried after %s", until.Sub(now))
	}
	now = now.Add(time.Minute)
	judge.Taken("a", "1", now)
	now = now.Add(3 * time.Minute)
	judge.Refused("a", "1", writes.Namespace, now)
	if until, _ := judge.Namespace("a"); until.Sub(now) > 2*time.Second {
		t.Errorf("a new stretch begins with a wait of %s", until.Sub(now))
	}
}

// R3.13: who was refused longest ago tries next, so that one object that is always refused is not all that is tried.
func TestWhoWasRefusedIsKnown(t *testing.T) {
	t.Parallel()
	var judge writes.Judge
	judge.Refused("a", "1", writes.Namespace, start)
	judge.Refused("a", "2", writes.Namespace, start.Add(time.Second))
	if !judge.LastRefused("a", "1").Before(judge.LastRefused("a", "2")) || !judge.LastRefused("a", "3").IsZero() {
		t.Errorf("refused at %s, %s, %s", judge.LastRefused("a", "1"), judge.LastRefused("a", "2"), judge.LastRefused("a", "3"))
	}
	judge.Forget("a", "1", false, start)
	judge.Taken("a", "2", start)
	if !judge.LastRefused("a", "1").IsZero() || !judge.LastRefused("a", "2").IsZero() {
		t.Error("what is gone or taken is remembered")
	}
}

// R3.13, R3.14: whatever happens, all are held up only while nobody's write was taken since, and a namespace only while none of its
// own was; one namespace alone, with answers that nobody can tell, never holds up another.
func TestNobodyIsHeldUpForLonger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var judge writes.Judge
		now := start
		unclear := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			namespace := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace")
			object := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "object")
			verb := rapid.SampledFrom([]string{"taken", "object", "namespace", "unclear", "unclear"}).Draw(t, "verb")
			_, before := judge.Server()
			play(&judge, namespace+"/"+object+" "+verb, now)
			_, all := judge.Server()
			_, own := judge.Namespace(namespace)
			switch verb {
			case "taken":
				clear(unclear)
				if all || own {
					t.Fatalf("a write of %s was taken, and it is held up: all %t, its own %t", namespace, all, own)
				}
			case "unclear":
				unclear[namespace] = true
			}
			if all && !before && len(unclear) < 2 {
				t.Fatalf("%s alone holds up all", namespace)
			}
		}
	})
}

// R3.14: where a namespace and the whole server are held at the same time, each has lasted since it began.
func TestWhatEndsHasLastedSinceItBegan(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(judge *writes.Judge, now time.Time) writes.Change{
		"one is taken": func(judge *writes.Judge, now time.Time) writes.Change { return judge.Taken("a", "1", now) },
		"none is left": func(judge *writes.Judge, now time.Time) writes.Change {
			judge.Forget("a", "2", false, now)
			return judge.Forget("a", "1", false, now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var judge writes.Judge
			later := start.Add(70 * time.Second)
			judge.Refused("a", "1", writes.Namespace, start)
			judge.Refused("a", "2", writes.Server, later)
			got := ends(&judge, later.Add(5*time.Second))
			want := writes.Change{NamespaceEnded: true, ServerEnded: true, NamespaceSince: start, ServerSince: later}
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// R3.14: the last object that is known to be refused is gone. While others wait to find out what becomes of all, one of them does, at once; else it is over.
func TestWhoDeletesWhatWasRefusedEndsItForNobodyElse(t *testing.T) {
	t.Parallel()
	for _, othersWait := range []bool{true, false} {
		var judge writes.Judge
		judge.Refused("a", "1", writes.Server, start)
		got := judge.Forget("a", "1", othersWait, start.Add(time.Second))
		until, held := judge.Server()
		if got.NextFinds != othersWait || got.ServerEnded == othersWait || held != othersWait || othersWait && !until.IsZero() || !got.NamespaceEnded {
			t.Errorf("others wait: %t, and then %+v, held %t until %s", othersWait, got, held, until)
		}
		if othersWait && judge.Forget("b", "never refused", false, start.Add(2*time.Second)).ServerEnded == false {
			t.Error("it goes on though the last who waited has left")
		}
	}
}
