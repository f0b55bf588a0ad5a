// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/portion"
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
		"20 Nov 2026 13:05:06 CST":                  at(19, 5, 6),
		"Fri Nov 20 13:05:06 CST 2026":              none, // not as RFC 822 has it: of a program, which may be in Shanghai
		"2026-11-20 13:05:06 CST":                   none,
		"20 novembre 2026 13:05:06 CST":             none,
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
		"9999-12-31T23:59:59-01:00":                 none,
		"0001-01-01T00:00:00Z":                      none,
		"Thu, 01 Jan 1970 00:00:00 +0000":           none,
		"Fri, 31 Nov 2026 13:05:06 GMT":             none,
		"Fri, 20 Nov 2026 25:05:06 GMT":             none,
		"yesterday":                                 none,

		// Other languages.
		"Freitag, 20. November 2026 13:05 Uhr MEZ":      at(12, 5, 0),
		"20. Nov. 2026, 13.05 Uhr":                      at(13, 5, 0),
		"20 Dez 2026 13:05:06 GMT":                      at(13, 5, 6).AddDate(0, 1, 0),
		"1. März 2026":                                  time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"vendredi 20 novembre 2026 à 13h05":             at(13, 5, 0),
		"20 novembre 2026 à 13h":                        at(13, 0, 0),
		"1er août 2026":                                 time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC),
		"ven., 20 nov. 2026 13:05:06 +0100":             at(12, 5, 6),
		"20 févr. 2026":                                 time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC),
		"viernes, 20 de noviembre de 2026 13:05":        at(13, 5, 0),
		"20 ene 2026":                                   time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC),
		"venerdì 20 novembre 2026 13:05:06 CET":         at(12, 5, 6),
		"20 mag 2026":                                   time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC),
		"sexta-feira, 20 de novembro de 2026 13:05 BRT": at(16, 5, 0),
		"20 out 2026":                                   time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC),
		"vrijdag 20 november 2026 13:05":                at(13, 5, 0),
		"20 mrt 2026":                                   time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC),
		"Пт, 20 ноября 2026 г., 13:05:06 +0300":         at(10, 5, 6),
		"20 мая 2026":                                   time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC),
		"piątek, 20 listopada 2026 13:05":               at(13, 5, 0),
		"20 paź 2026":                                   time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC),
		"20 Kasım 2026 13:05 TRT":                       at(10, 5, 0),
		"20 jui 2026":                                   none, // juin or juillet
		"２０２６年１１月２０日　１３：０５":                             at(13, 5, 0),
		"令和8年11月20日(金) 13時05分":                          at(13, 5, 0),
		"令和元年5月1日":                                      time.Date(2019, 5, 1, 0, 0, 0, 0, time.UTC),
		"R8.11.20":                                      at(0, 0, 0),
		"平成31年4月30日":                                    time.Date(2019, 4, 30, 0, 0, 0, 0, time.UTC),
		"2026年11月20日 午後1時5分":                            at(13, 5, 0),
		"2026年11月20日 午後0時5分":                            at(12, 5, 0),
		"2026年11月20日13時":                                at(13, 0, 0),
		"2026年11月20日 星期五 下午1:05":                        at(13, 5, 0),
		"2026年11月20日 13点05分":                            at(13, 5, 0),
		"2026년 11월 20일 오후 1:05":                         at(13, 5, 0),
		"2026년 11월 20일 금요일 13시 05분 06초":                 at(13, 5, 6),
		"2026. 11. 20. 오전 9:05":                         at(9, 5, 0),

		// Standards, machines, and accidents.
		"Mon, 20 Nov 2026 13:05:06 GMT":          at(13, 5, 6), // it was a Friday
		"Thu, 19 Nov 2026 24:00:00 GMT":          at(0, 0, 0),
		"Thu, 19 Nov 2026 24:01:00 GMT":          none,
		"20261120T130506Z":                       at(13, 5, 6),
		"20261120130506":                         at(13, 5, 6),
		"20261120":                               at(0, 0, 0),
		"2026-W47-5T13:05:06Z":                   at(13, 5, 6),
		"2026W475":                               at(0, 0, 0),
		"2026-W54-1":                             none,
		"2026-324":                               at(0, 0, 0),
		"2026-366":                               none,
		"1795179906":                             at(13, 5, 6),
		"1795179906789":                          at(13, 5, 6),
		"1795179906.789":                         at(13, 5, 6),
		"20/11/2026":                             at(0, 0, 0),
		"11/20/2026 1:05 PM":                     at(13, 5, 0),
		"20-11-2026 13:05":                       at(13, 5, 0),
		"11/12/2026":                             none, // of November or of December
		"11-12-26":                               none,
		"2026-11-20 13:05:06 by the admin":       at(13, 5, 6),
		"Fri, 20 Nov 2026 13:05:06 GMT;":         at(13, 5, 6),
		"2026-11-20 13:05:06 Asia/Tokyo":         none,
		"2026-11-20 13:05 Eastern Standard Time": none,
		"Mon, 30 Nov -0001 00:00:00 +0000":       none,
		"0000-00-00 00:00:00":                    none,
		"1969-12-31T23:59:59Z":                   none,
		"Wed, 31 Dec 1969 19:00:00 EST":          none,
		"1899-12-30T00:00:00":                    none,
		"20 Nov 69 13:05 GMT":                    none,
		"0":                                      none,
		"":                                       none,
		strings.Repeat("2026-11-20 ", 50):        none,
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

// R1.1: in a feed in Chinese CST is China's, whatever the form.
func TestCentralTimeInChinese(t *testing.T) {
	t.Parallel()
	const date = "Fri, 20 Nov 2026 13:05:06 CST"
	rss := func(language, date string) string {
		return `<rss version="2.0"><channel><title>T</title><language>` + language + `</language><item><title>A</title><pubDate>` + date + `</pubDate></item></channel></rss>`
	}
	china, america := time.Date(2026, 11, 20, 5, 5, 6, 0, time.UTC), time.Date(2026, 11, 20, 19, 5, 6, 0, time.UTC)
	tests := map[string]struct {
		body string
		want time.Time
	}{
		"Chinese":                       {rss("zh-cn", date), china},
		"Chinese of Taiwan":             {rss("zh_TW", date), china},
		"Chinese, no more":              {rss(" ZH ", date), china},
		"Chinese, in the form of Java":  {rss("zh-CN", "Fri Nov 20 13:05:06 CST 2026"), china},
		"Chinese, in the form of a log": {rss("zh-CN", "2026-11-20 13:05:06 CST"), china},
		"Chinese, and a number":         {rss("zh-CN", "Fri, 20 Nov 2026 13:05:06 -0600 (CST)"), america},
		"English":                       {rss("en-us", date), america},
		"no language":                   {rss("", date), america},
		"a language that begins alike":  {rss("zha", date), america},
		"Atom":                          {`<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="zh"><title>T</title><entry><id>1</id><updated>2026-11-20 13:05:06 CST</updated></entry></feed>`, china},
		"JSON":                          {`{"items":[{"id":"1","date_published":"2026-11-20 13:05:06 CST"}],"language":"zh-Hans","version":"https://jsonfeed.org/version/1.1"}`, china},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := one(t, test.body).Published; !got.Equal(test.want) {
				t.Errorf("published %v, want %v", got, test.want)
			}
		})
	}
}

// R1.1: the date of an update stands in for that of the publication, never the other way round.
func TestPublishedThenUpdated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"both":                  {atomWith("<entry><id>1</id><published>2026-01-01T00:00:00Z</published><updated>2026-02-02T00:00:00Z</updated></entry>"), "2026-01-01"},
		"updated alone":         {atomWith("<entry><id>1</id><updated>2026-02-02T00:00:00Z</updated></entry>"), "2026-02-02"},
		"published is no date":  {atomWith("<entry><id>1</id><published>soon</published><updated>2026-02-02T00:00:00Z</updated></entry>"), "2026-02-02"},
		"issued":                {rssWith("<item><title>A</title><x:issued xmlns:x='http://purl.org/dc/terms/'>2026-01-01</x:issued></item>"), "2026-01-01"},
		"issued and modified":   {rssWith("<item><title>A</title><dcterms:modified>2026-02-02</dcterms:modified><dcterms:issued>2026-01-01</dcterms:issued></item>"), "2026-01-01"},
		"modified alone":        {rssWith("<item><title>A</title><dcterms:modified>2026-02-02T00:00:00Z</dcterms:modified></item>"), "2026-02-02"},
		"created":               {rssWith("<item><title>A</title><dcterms:created>2026-01-01T00:00:00+00:00</dcterms:created></item>"), "2026-01-01"},
		"issued is no date":     {rssWith("<item><title>A</title><dcterms:issued>soon</dcterms:issued><dcterms:modified>2026-02-02</dcterms:modified></item>"), "2026-02-02"},
		"issued in Atom":        {atomWith("<entry><id>1</id><updated>2026-02-02T00:00:00Z</updated><issued xmlns='http://purl.org/dc/terms/'>2026-01-01</issued></entry>"), "2026-01-01"},
		"a date, and issued":    {rssWith("<item><title>A</title><pubDate>2026-01-01</pubDate><dcterms:issued>2026-02-02</dcterms:issued></item>"), "2026-01-01"},
		"issued in RSS 1.0":     {`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dcterms="http://purl.org/dc/terms/"><channel><title>T</title></channel><item rdf:about="x"><title>A</title><dcterms:issued>2026-01-01</dcterms:issued></item></rdf:RDF>`, "2026-01-01"},
		"the date of a journal": {rssWith("<item><title>A</title><p:publicationDate xmlns:p='http://prismstandard.org/namespaces/1.2/basic/'>2026-01-01</p:publicationDate></item>"), "2026-01-01"},
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

// R1.6: what is listed was published; a date in the future is when that was seen.
func TestDatesInTheFutureAreClamped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 13, 5, 6, 789, time.FixedZone("JST", 9*3600))
	seen := time.Date(2026, 11, 20, 4, 5, 6, 0, time.UTC)
	document := &Document{Entries: []Entry{
		{Title: "in a year", Published: seen.AddDate(1, 0, 0)}, {Title: "in a second", Published: seen.Add(time.Second)},
		{Title: "now", Published: seen}, {Title: "before", Published: seen.Add(-time.Hour)}, {Title: "never"},
	}}
	document.ClampDates(now)
	want := []Entry{
		{Title: "in a year", Published: seen}, {Title: "in a second", Published: seen},
		{Title: "now", Published: seen}, {Title: "before", Published: seen.Add(-time.Hour)}, {Title: "never"},
	}
	if diff := cmp.Diff(want, document.Entries); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// R1.6, R1.10: what stands in the place of a date may be long, and is not copied over and over. Not
// parallel: counted is what the process allocates.
func TestLongDates(t *testing.T) {
	size := portion.Of(1<<20, 1<<17)
	long := strings.Repeat("9", size)
	for name, body := range map[string]string{
		"RSS":         rssWith("<item><title>A</title><pubDate>" + long + "</pubDate></item>"),
		"a channel":   rssWith("<lastBuildDate>" + long + "</lastBuildDate><item><title>A</title></item>"),
		"Dublin Core": rssWith("<item><title>A</title><dc:date>" + long + "</dc:date></item>"),
		"Atom":        atomWith("<entry><title>A</title><published>" + long + "</published></entry>"),
		"Atom 0.3":    atomWith("<entry><title>A</title><issued>" + long + "</issued><modified>" + long + "</modified></entry>"),
		"JSON":        jsonWith(`{"title":"A","date_published":"` + long + `","date_modified":` + long + `}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		entry := one(t, body)
		runtime.ReadMemStats(&after)
		if entry.Title != "A" || !entry.Published.IsZero() {
			t.Errorf("%s: %+v", name, entry)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(16*size) {
			t.Errorf("%s: %d bytes were allocated for %d", name, allocated, len(body))
		}
	}
}
