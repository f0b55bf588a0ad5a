// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// R6.3: the page has what the command prints, with the flags that it says.
func TestThePageHasWhatTheCommandPrints(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "scaling.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)<!-- go run ./hack/scaling *(.*?) *-->\n\n(.*?First comes: .*?\n)`).FindAllStringSubmatch(string(page), -1)
	if len(found) != 3 {
		t.Fatalf("the page has %d tables", len(found))
	}
	for _, table := range found {
		var out strings.Builder
		if err := run(strings.Fields(table[1]), &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != table[2] {
			t.Errorf("go run ./hack/scaling %s prints\n%s\nthe page has\n%s", table[1], out.String(), table[2])
		}
	}
}

// R6.3: what is worked out is what one would work out by hand.
func TestNeedsAreWorkedOut(t *testing.T) {
	t.Parallel()
	load := Load{
		Feeds: 3600, Interval: 10 * time.Minute, Items: 30 * 86400, KeptFor: 24 * time.Hour, KeepLast: 1, Listed: 10, Age: 24 * time.Hour,
		Latency: 2 * time.Second, Shards: 4, Replicas: 2,
	}
	costs := Costs{
		ItemBytes: 1000, SourceBytes: 100, MemoryBytes: 10, SeenBytes: 1, SeenLatelyBytes: 1, SeenLately: 5, Compaction: 10 * time.Second, FreePages: 2,
		ItemWrites: 3, PollWrites: 2, SignOfLife: time.Hour, CachedItem: 100, CachedSource: 10, AtRest: 7, HeapFactor: 2,
		PollTime: time.Second, ItemTime: 2 * time.Second, PollPlaces: 3,
	}
	limits := Limits{Etcd: 1, Writes: 1, Watch: 1, Memory: 1, Cores: 5}
	// An item a second; of 86,400 in a day all are kept; a feed has had 24 beside the 10 that it lists, so 34 × 1 + 5 × 1 + 10 bytes.
	wants := []float64{
		(86400*1000 + 3600*(100+49) + (3*1000+100+49+100)*10) * 2,
		1*(3+2) + 1 + (4.0/2 + 2.0/4),
		2 * (3*1000 + 100 + 100),
		(86400*100+3600*10)*2 + 7,
		6 * 2,
		6*1 + 1*2,
	}
	for i, need := range Needs(load, costs, limits) {
		if math.Abs(need.Value-wants[i]) > 1e-6*wants[i] {
			t.Errorf("%s: %g, want %g (%s)", need.What, need.Value, wants[i], need.Sum)
		}
	}
	if got := Needs(load, costs, limits)[5].Limit; got != 10 {
		t.Errorf("two replicas have %g cores", got)
	}
	if got := First([]Need{{What: "a", Value: 1, Limit: 2}, {What: "b", Value: 3, Limit: 4}, {What: "c", Value: 1, Limit: 9}}); got.What != "b" {
		t.Errorf("%s is said to come first", got.What)
	}
}

// R6.3: what makes no sense is explained.
func TestWhatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--feeds=0", "--items=-1", "--shards=0", "--interval=0s", "--memory-bytes=0"} {
		if err := run([]string{flag}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "must be more than 0") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
