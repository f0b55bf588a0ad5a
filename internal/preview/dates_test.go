// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/preview"
)

// R1.3, R6.5: a date to come is shown as the item would have it, which is the time of the poll.
func TestADateToComeIsThatOfThePoll(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("news", 1)
	entries[0].Published = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	web.List(entries...)
	p := newPreviewer(t, source(web))
	p.Now = func() time.Time { return time.Date(2026, 11, 22, 1, 2, 3, 456, time.UTC) }
	said, err := show(t, p)
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "Published  2026-11-22T01:02:03Z")
	var items strings.Builder
	if err := preview.WriteItems(t.Context(), &items, p, p.Objects.Sources(), "yaml"); err != nil {
		t.Fatal(err)
	}
	mustContain(t, items.String(), `publishedTime: "2026-11-22T01:02:03Z"`)
}
