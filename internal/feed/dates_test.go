// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"strings"
	"testing"
	"time"
)

// R1.1, R1.6: dates come in any form. What is not sure is no date.
func TestDates(t *testing.T) {
	t.Parallel()
	at := func(hour, minute, second int) time.Time {
		return time.Date(2026, 11, 20, hour, minute, second, 0, time.UTC)
	}
	none := time.Time{}
	tests := map[string]time.Time{
		"Fri, 20 Nov 2026 13:05:06 +0900":           at(4, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 JST":             at(4, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 (JST)":           at(4, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 +0900 (JST)":     at(4, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 kst":             at(4, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 GMT+09:00":       at(4, 5, 6),
		"Fri Nov 20 2026 13:05:06 GMT+0900 (日本標準時)": at(4, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 GMT":             at(13, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 UT":              at(13, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 Z":               at(13, 5, 6),
		"Fri, 20 Nov 2026 13:05:06":                 at(13, 5, 6),
		"Fri, 20 Nov 2026 13:05":                    at(13, 5, 0),
		"Fri, 20 Nov 2026 13:05:60 GMT":             at(13, 5, 59),
		"Fri, 20 Nov 2026":                          at(0, 0, 0),
		"ven., 20 Nov. 2026 13:05:06 CET":           at(12, 5, 6),
		"20 November 2026 13:05:06 CEST":            at(11, 5, 6),
		"20 Nov 26 13:05 BST":                       at(12, 5, 0),
		"Friday, 20-Nov-26 13:05:06 PST":            at(21, 5, 6),
		"20 Nov 2026 13:05:06 PDT":                  at(20, 5, 6),
		"20 Nov 2026 13:05:06 EST":                  at(18, 5, 6),
		"20 Nov 2026 13:05:06 EDT":                  at(17, 5, 6),
		"20 Nov 2026 13:05:06 -700":                 at(20, 5, 6),
		"20 Nov 2026 13:05:06 -07":                  at(20, 5, 6),
		"20 Nov 2026 13:05:06 CST":                  none,
		"20 Nov 2026 13:05:06 CST-0600":             at(19, 5, 6),
		"20 Nov 2026 13:05:06 IST":                  none,
		"20 Nov 2026 13:05:06 +0530 (IST)":          at(7, 35, 6),
		"20 Nov 2026 13:05:06 XYZ":                  none,
		"20/11/2026 13:05 IST":                      none,
		"Fri Nov 20 13:05:06 2026":                  at(13, 5, 6),
		"Fri Nov 20 13:05:06 JST 2026":              at(4, 5, 6),
		"Fri Nov 20 13:05:06 +0900 2026":            at(4, 5, 6),
		"Nov 20, 2026, 1:05 p.m.":                   at(13, 5, 0),
		"November 20th, 2026 12:05 AM":              at(0, 5, 0),
		"2026-11-20T13:05:06+09:00":                 at(4, 5, 6),
		"2026-11-20T13:05:06.789+0900":              at(4, 5, 6),
		"2026-11-20T13:05:06Z":                      at(13, 5, 6),
		"2026-11-20T13:05Z":                         at(13, 5, 0),
		"2026-11-20T13:05:06":                       at(13, 5, 6),
		"2026-11-20 13:05:06 JST":                   at(4, 5, 6),
		"2026-11-20":                                at(0, 0, 0),
		"2026-11-20Z":                               at(0, 0, 0),
		"2026/11/20 13:05":                          at(13, 5, 0),
		"20.11.2026 13:05":                          at(13, 5, 0),
		"2026年11月20日 13:05":                         at(13, 5, 0),
		"2026年11月20日(金) 13時05分06秒":                  at(13, 5, 6),
		"2026年11月20日":                               at(0, 0, 0),
		"  2026-11-20\n":                            at(0, 0, 0),
		"20/11/2026":                                at(0, 0, 0), // the library's way
		"9999-12-31T23:59:59-01:00":                 none,
		"0001-01-01T00:00:00Z":                      none,
		"Thu, 01 Jan 1970 00:00:00 +0000":           none,
		"Fri, 31 Nov 2026 13:05:06 GMT":             none,
		"Fri, 20 Nov 2026 25:05:06 GMT":             none,
		"yesterday":                                 none,
		"":                                          none,
		strings.Repeat("2026-11-20 ", 50):           none,
	}
	for raw, want := range tests {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			entry := one(t, rssWith("<item><title>A</title><pubDate>"+raw+"</pubDate></item>"))
			if !entry.Published.Equal(want) || entry.Published.Location() != time.UTC {
				t.Errorf("%q is %v, want %v", raw, entry.Published, want)
			}
		})
	}
}

// R1.1: the date of an update stands in for that of the publication, never the other way round.
func TestPublishedThenUpdated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"both":                 {atomWith("<entry><id>1</id><published>2026-01-01T00:00:00Z</published><updated>2026-02-02T00:00:00Z</updated></entry>"), "2026-01-01"},
		"updated alone":        {atomWith("<entry><id>1</id><updated>2026-02-02T00:00:00Z</updated></entry>"), "2026-02-02"},
		"published is no date": {atomWith("<entry><id>1</id><published>soon</published><updated>2026-02-02T00:00:00Z</updated></entry>"), "2026-02-02"},
		"published in a zone that must not be guessed": {rssWith("<item><title>A</title><pubDate>1 Jan 2026 00:00 IST</pubDate><dc:date>2026-02-02</dc:date></item>"), "2026-02-02"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := one(t, test.body).Published.Format(time.DateOnly); got != test.want {
				t.Errorf("published %s, want %s", got, test.want)
			}
		})
	}
}
