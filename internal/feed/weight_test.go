// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/heaptest"
)

// R1.6, R1.10: to parse a feed takes no more memory than is taken of the budget for it, also where it is as large as it
// may be, and what is left of it is what its Weight says. Not parallel: it looks at the memory of the whole process.
func TestWhatParsingTakes(t *testing.T) {
	if inflation > 1 {
		t.Skip("only without the race detector, as in `make test-real`: it takes memory of its own")
	}
	const large = 10 << 20
	const rss, end = `<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title>`, "</channel></rss>"
	based := `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://a.example/` + strings.Repeat("x", 400) + `"><title>Feed</title>`
	sentence := strings.Repeat("This is a sentence, with commas, that goes on for a while. ", 17)
	entries := func(before, format, after string) func() []byte {
		return func() []byte {
			out := append(make([]byte, 0, large), before...)
			for i := 0; len(out) < large-2<<10; i++ {
				out = fmt.Appendf(out, format, i, i, sentence)
			}
			return append(out, after...)
		}
	}
	repeated := func(before, again, after string) func() []byte {
		return func() []byte {
			return []byte(before + strings.Repeat(again, (large-len(before)-len(after))/len(again)) + after)
		}
	}
	// Each is made when its turn comes: the collector lets garbage grow by a part of all that lives.
	for name, made := range map[string]func() []byte{
		"RSS":                  entries(rss, "<item><guid>%d</guid><title>Entry %d</title><description>%s</description></item>", end),
		"Atom":                 entries(`<feed xmlns="http://www.w3.org/2005/Atom"><title>Feed</title>`, "<entry><id>%d</id><title>Entry %d</title><content>%s</content></entry>", "</feed>"),
		"JSON":                 entries(`{"version":"https://jsonfeed.org/version/1.1","title":"Feed","items":[`, `{"id":"%d","title":"Entry %d","content_text":"%s"},`, `{"id":"last"}]}`),
		"Latin-1":              entries(rss, "<item><guid>%d</guid><title>Caf\xe9 %d</title><description>%s</description></item>", end),
		"empty":                repeated(rss, "<item/>", end),
		"categories":           repeated(rss+"<item><title>x</title>", "<category>a</category>", "</item>"+end),
		"extensions":           repeated(rss+"<item><title>x</title>", "<a:b>a</a:b>", "</item>"+end),
		"one text":             repeated(rss+"<item><title>x</title><description>", "&lt;p&gt;x", "</description></item>"+end),
		"one text in CDATA":    repeated(rss+"<item><title>x</title><description><![CDATA[", "<p>x", "]]></description></item>"+end),
		"texts of one entry":   repeated(rss+"<item><title>x</title>", "<description>"+sentence[:600]+"</description>", "</item>"+end),
		"texts elsewhere":      entries(rss, "<item><guid>%d</guid><title>Entry %d</title><image><description>%s</description></image></item>", end),
		"tags":                 repeated(rss+"<item><title>x</title>", "<a/>", "</item>"+end),
		"Atom links":           repeated(`<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><entry><title>x</title>`, "<link href='a'/>", "</entry></feed>"),
		"a base":               repeated(based, "<entry><id>1</id><link href='a'/></entry>", "</feed>"),
		"a base of extensions": repeated(based+"<entry><id>1</id>", `<x:a href="" y:href="" z:href="">a</x:a>`, "</entry></feed>"),
		"a base of HTML":       repeated(based+"<entry><id>1</id><content type='html'>", "&lt;a href>", "</content></entry></feed>"),
		"no document":          repeated("", "\x00", ""),
	} {
		t.Run(name, func(t *testing.T) {
			body := made()
			var document *Document
			limit := Weigh(body) * 5 / 4 // some of it is garbage that is collected late
			took := heaptest.Peak(limit, func() { document, _ = Parse(body, "text/xml", "https://site.example/") })
			if document == nil {
				document = &Document{}
			}
			t.Logf("%.1f MiB, of %.1f, %.1f MiB are left", float64(took)/(1<<20), float64(Weigh(body))/(1<<20), float64(document.Weight())/(1<<20))
			if took > limit {
				t.Errorf("it took %d KiB, %d KiB were counted", took>>10, Weigh(body)>>10)
			}
			runtime.KeepAlive(body)
		})
	}
}
