// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R1.8, R6.5: what filters drop is shown, and also which of them do not work, as the source's condition would say it.
func TestFiltersThatFailAreShown(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	p := newPreviewer(t, source(web,
		`filters: [{name: first, action: Drop, expression: "title.endsWith('-1')"}, {name: broken, action: Drop, expression: "categories[9] == 'x'"}]`))
	said, err := show(t, p)
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, strings.Join(strings.Fields(said), " "), "2 entries become items", "News about news-1: dropped by the filter first",
		"The filter broken could not be evaluated for 2 of the new entries, and has dropped none of them: an index is out of range")
}

// R6.5: a preview that is interrupted ends while filters are at work.
func TestAnInterruptEndsTheFilters(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	p := newPreviewer(t, source(web, `filters: [{name: first, action: Drop, expression: "title.endsWith('-1')"}]`))
	ctx, cancel := context.WithCancel(t.Context())
	now := p.Now
	p.Now = func() time.Time { cancel(); return now() } // the feed is read by then
	if read, err := p.Read(ctx, p.Objects.Sources()[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("read %+v, %v", read, err)
	}
}
