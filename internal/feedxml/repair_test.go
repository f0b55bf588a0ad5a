// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"strings"
	"testing"
)

// R1.6: all passes over one document read some tens of megabytes at most, and no document is repaired more often than is said.
func TestALargeDocumentIsWorthFewRepairs(t *testing.T) {
	t.Parallel()
	for size, most := range map[int]int{0: 16, 1 << 10: 16, 2 << 20: 16, 4 << 20: 8, 9 << 20: 3, 20 << 20: 1, 40 << 20: 1} {
		if got := repairsOf(make([]byte, size)); got != most {
			t.Errorf("%d bytes are worth %d repairs, want %d", size, got, most)
		}
	}
	for _, broken := range []int{maxRepairs, maxRepairs + 1} {
		const item = "<item><title>x < y</title></item>"
		repaired, _, damage := Repair([]byte("<rss><channel><item><title>A</title></item>" + strings.Repeat(item, broken) + "<item><title>Z</title></item></channel></rss>"))
		if got, want := bytes.Contains(repaired, []byte("Z")), broken == maxRepairs; got != want || damage == nil {
			t.Errorf("of a document with %d errors the end is read: %t, want %t, damage %v", broken, got, want, damage)
		}
	}
}
