// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"encoding/json"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// stored is a memory in two parts, and how many bytes were written for it.
type stored struct {
	t               *testing.T
	latest, archive v1alpha1.FeedMemoryData
	written         int
	archives        int // that were written
	longest         int // of the latest parts that were written
}

// poll remembers some keys, as far as they are news, and stores the memory.
func (s *stored) poll(keys ...feed.Keys) {
	s.t.Helper()
	memory := s.load()
	for _, k := range keys {
		memory.Remember(k)
	}
	if memory.StoreParts(&s.latest, &s.archive) {
		s.archives++
		s.written += size(s.t, s.archive)
	}
	s.longest = max(s.longest, size(s.t, s.latest))
	s.written += size(s.t, s.latest)
}

// pollAll remembers the entries from one number up to another, so many in each poll, and others besides them in each.
func (s *stored) pollAll(from, to, each int, besides ...feed.Keys) {
	s.t.Helper()
	for ; from < to; from += each {
		s.poll(append(numbers(from, min(from+each, to)), besides...)...)
	}
}

func (s *stored) load() *Memory {
	s.t.Helper()
	memory, err := LoadParts(s.latest, s.archive)
	if err != nil {
		s.t.Fatal(err)
	}
	return memory
}

func size(t *testing.T, data v1alpha1.FeedMemoryData) int {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// numbers are the keys of entries from one number up to another.
func numbers(from, to int) (keys []feed.Keys) {
	for i := from; i < to; i++ {
		keys = append(keys, key(i))
	}
	return keys
}

// R2.10: for each entry that is new little is written, however much is remembered: a source with a news an hour, which lists the
// latest 20, for a month, after three years.
func TestLittleIsWrittenForANews(t *testing.T) {
	t.Parallel()
	s := &stored{t: t}
	s.poll(numbers(0, 25_000)...)
	s.poll(numbers(24_990, 25_010)...)
	s.written, s.archives, s.longest = 0, 0, 0
	news := portion.Of(520, 8)
	for i := range news {
		s.poll(numbers(24_991+i, 25_011+i)...)
	}
	whole := size(t, s.latest) + size(t, s.archive)
	if each := s.written / news; each > 15_000 || s.longest > 30_000 || s.archives > 2 {
		t.Errorf("%d bytes are written for each news, %d at most, and the archive %d times; all is %d bytes", each, s.longest, s.archives, whole)
	}
	t.Logf("%d bytes for each news, %d at most, the archive %d times; all is %d bytes", s.written/news, s.longest, s.archives, whole)
	if whole > 490_000 {
		t.Errorf("it takes %d bytes", whole)
	}
}

// A memory that has not grown is stored in one part, as before.
func TestASmallMemoryHasNoArchive(t *testing.T) {
	t.Parallel()
	s := &stored{t: t}
	for i := range 101 {
		s.poll(numbers(20*i, 20*i+20)...)
	}
	if s.archives != 0 || s.archive != (v1alpha1.FeedMemoryData{}) {
		t.Errorf("the archive was written %d times: %+v", s.archives, s.archive)
	}
	s.poll(numbers(2_020, 2_040)...)
	if s.archives != 1 {
		t.Fatalf("the archive was written %d times", s.archives)
	}
	memory := s.load()
	for i, k := range numbers(0, 2_040) {
		if !memory.Known(k) {
			t.Fatalf("%d is not known in two parts", i)
		}
	}
}

// R1.2: what the bound is for a memory in one part, it is for one in two: 20,000 besides those that are listed, the least recently seen
// are forgotten first, and one that was seen again late, for once, is not among them.
func TestBoundInParts(t *testing.T) {
	t.Parallel()
	s, each, before := &stored{t: t}, portion.Of(100, 400), portion.Of(100, 5_000) // entries that a poll finds: fewer polls show the same
	s.pollAll(0, 10_000, before)
	s.poll(append(numbers(0, 5), numbers(10_000, 10_010)...)...) // seen once more
	s.pollAll(10_010, 29_910, before)
	memory := s.load()
	for _, i := range []int{0, 4, 10_000, 10_009, 29_909} {
		if !memory.Known(key(i)) {
			t.Errorf("%d is not known", i)
		}
	}
	if memory.Known(key(29_910)) {
		t.Error("what was never seen is known")
	}
	s.pollAll(40_000, 42_000, each)
	if memory = s.load(); memory.Known(key(5)) || memory.Known(key(9_000)) {
		t.Error("nothing is forgotten")
	}
	if kept := len(memory.guids.seenNow); kept < minKept || kept > minKept+archiveAfter+2*each {
		t.Errorf("%d keys are kept", kept)
	}
}

// R1.2: what the feed still lists is not forgotten, however long it does.
func TestWhatIsListedIsNeverForgottenInParts(t *testing.T) {
	t.Parallel()
	s := &stored{t: t}
	listed := numbers(0, 10)
	s.pollAll(1_000, 23_000, portion.Of(200, 2_500), listed...)
	older := load(t, s.latest) // of an operator that knows of no archive
	for _, k := range listed {
		if !s.load().Known(k) || !older.Known(k) {
			t.Errorf("%v is forgotten", k)
		}
	}
}

// R1.2: where the archive was stored and what belongs to it was not, nothing has changed but that: no entry is known that was not
// stored with what became of it.
func TestAnArchiveAloneChangesNothing(t *testing.T) {
	t.Parallel()
	s := &stored{t: t}
	s.poll(numbers(0, 3_000)...)
	before := s.latest
	s.poll(numbers(2_990, 3_010)...)
	if s.archives != 1 {
		t.Fatalf("the archive was written %d times", s.archives)
	}
	s.latest = before
	memory := s.load()
	if memory.Known(key(3_000)) || !memory.Known(key(0)) || !memory.Known(key(2_999)) || len(memory.guids.before) != 3_000 {
		t.Errorf("%d keys", len(memory.guids.before))
	}
	s.poll(numbers(3_000, 3_010)...)
	if memory = s.load(); !memory.Known(key(3_009)) || !memory.Known(key(0)) {
		t.Error("something is lost once it is stored again")
	}
}
