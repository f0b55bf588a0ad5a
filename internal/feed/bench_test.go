// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/dates"
)

// sized makes a document of so many entries of an ordinary size, about 2 KB each.
func sized(format string, entries int) []byte {
	var listed strings.Builder
	paragraph := strings.Repeat("<p>Ten years after the first line the city opens another one: the mayor &amp; the company speak of 40 % more.</p>", 10)
	for i := range entries {
		at := time.Date(2026, 11, 20, 13, 5, 6, 0, time.UTC).Add(-time.Duration(i) * time.Hour)
		switch format {
		case "RSS":
			fmt.Fprintf(&listed, `<item><title>Headline %d &amp; more</title><link>https://site.example/%d?utm_source=rss</link>`+
				`<guid isPermaLink="false">https://site.example/?p=%d</guid><dc:creator><![CDATA[Ann Author]]></dc:creator><pubDate>%s</pubDate>`+
				`<category><![CDATA[News]]></category><category>City</category><description><![CDATA[%s]]></description>`+
				`<content:encoded><![CDATA[%s]]></content:encoded><media:content url="https://site.example/%d.jpg" medium="image"/></item>`+"\n",
				i, i, i, at.Format(time.RFC1123Z), paragraph[:200], paragraph, i)
		case "Atom":
			fmt.Fprintf(&listed, `<entry><id>tag:site.example,2026:%d</id><title type="html">Headline %d &amp;amp; more</title>`+
				`<link rel="alternate" type="text/html" href="https://site.example/%d"/><author><name>Ann Author</name></author>`+
				`<published>%s</published><updated>%s</updated><category term="News"/><summary>Short</summary><content type="html">%s</content></entry>`+"\n",
				i, i, i, at.Format(time.RFC3339), at.Format(time.RFC3339), strings.NewReplacer("<", "&lt;", "&", "&amp;").Replace(paragraph))
		case "JSON":
			fmt.Fprintf(&listed, `{"id":"%d","url":"https://site.example/%d","title":"Headline %d","authors":[{"name":"Ann Author"}],`+
				`"date_published":"%s","tags":["News"],"content_html":%q},`, i, i, i, at.Format(time.RFC3339), paragraph)
		}
	}
	switch format {
	case "RSS":
		return []byte(rssWith(listed.String()))
	case "Atom":
		return []byte(atomWith(listed.String()))
	}
	return []byte(jsonWith(strings.TrimSuffix(listed.String(), ",")))
}

func BenchmarkParse(b *testing.B) {
	for _, format := range []string{"RSS", "Atom", "JSON"} {
		for _, entries := range []int{30, MaxEntries} {
			body := sized(format, entries)
			b.Run(fmt.Sprintf("%s-%d", format, entries), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					document, err := Parse(body, "application/xml; charset=utf-8", base)
					if err != nil || len(document.Entries) != entries || document.Warning() != "" {
						b.Fatalf("%d entries, %v", len(document.Entries), err)
					}
				}
			})
		}
	}
}

func BenchmarkIdentify(b *testing.B) {
	document, err := Parse(sized("RSS", 30), "", base)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, entry := range document.Entries {
			Identify(entry)
		}
	}
}

func BenchmarkDates(b *testing.B) {
	for _, raw := range []string{"Fri, 20 Nov 2026 13:05:06 +0900", "2026-11-20T13:05:06Z", "Fri, 20 Nov 2026 13:05:06 JST", "令和8年11月20日(金) 午後1時5分"} {
		b.Run(raw, func(b *testing.B) {
			for b.Loop() {
				dates.Parse(raw, "")
			}
		})
	}
}
