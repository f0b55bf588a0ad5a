// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedxml"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// isLight reports whether a document is read without its texts.
func isLight(text []byte) bool {
	light := feedxml.Lighten(text)
	if light == nil {
		return false
	}
	_, err := parseFeed(light, base)
	return err == nil
}

// checkAlike compares what is read of a document with what is read of the whole of it.
func checkAlike(t rapid.TB, text []byte) {
	t.Helper()
	got, gotErr := parseXML(text, base)
	want, wantErr := parseWhole(text, base)
	var gotFailure, wantFailure *failure.Error
	if errors.As(gotErr, &gotFailure) != errors.As(wantErr, &wantFailure) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("%s: error %v, want %v", text, gotErr, wantErr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\nis read as\n%+v\nwant\n%+v", text, got, want)
	}
}

// longTexts are what is taken out, and what is like it.
func longTexts() []string {
	long := strings.Repeat("The tram to the harbour runs again. ", 20)
	escaped := strings.Repeat("&lt;p&gt;A &amp;amp; B&#xA;&#8217;&#39;&#128;&quot;&apos;&lt;/p&gt;", 20)
	return []string{
		"", "short", long, "\n " + long + " ", long + "\r\n" + long, escaped, long + "\u00a0", "\u0085" + long, strings.Repeat(" ", 600), strings.Repeat("&#32;", 150),
		long + "&nbsp;", long + "&copy=2;", long + "&", long + "&#;", long + "&#x0;", long + "&#0000000000001;", long + "&#X41;", "&lt;" + long + "& " + long,
		long + "]]>", long + "]]&gt;", long + "]]", long + "<b>" + long + "</b>", long + "<br/>", long + "<!-- x -->", long + "<?x y?>", long + "<",
		"<![CDATA[" + long + "]]>", "\n <![CDATA[" + long + "<p>&amp;</p> ]]>\n", "<![CDATA[" + long + "]]>" + long, long + "<![CDATA[" + long + "]]>",
		"<![CDATA[" + long + "]]><![CDATA[" + long + "]]>", "<![CDATA[<!-- " + long + "]]>", "<![CDATA[<![CDATA[" + long + "]]>", "<![CDATA[</description>" + long + "]]>",
		"<![CDATA[" + long, "<![CDATA[" + long + "\r\n]]>", "\u00a0<![CDATA[" + long + "]]>", "<!-- " + long + " -->", "<![CDATA[x]]>",
	}
}

// elements have a text in them, or several.
var elements = []string{
	"<description>%s</description>", "<description>%s</description >", "<description >%s</description>", "<description a='<b>'>%s</description>", "<description>%s</DESCRIPTION>",
	"<Description>%s</Description>", "<content:encoded>%s</content:encoded>", "<encoded>%s</encoded>", "<dc:description>%s</dc:description>",
	"<description>%s</description><dc:description>D</dc:description>", "<itunes:summary>%s</itunes:summary>", "<media:group><description>%s</description></media:group>", "<media:description>%s</media:description>",
	`<x xmlns="http://purl.org/dc/elements/1.1/"><description>%s</description></x>`, "<image><description>%s</description></image>",
	"<title><description>%s</description></title>", "<item><description>%s</description></item>", "<source><content>%s</content></source>",
	"<content>%s</content>", `<content type="html">%s</content>`, `<content type='html'>%s</content>`, `<content type="text">%s</content>`, "<content type='xhtml'>%s</content>",
	`<content type="image/png">%s</content>`, `<content type="html" xml:base="http://b.example/">%s</content>`, "<summary>%s</summary>",
	`<summary type="html">%s</summary>`, "<!-- <description>%s</description> -->", "<![CDATA[<description>%s</description>]]>", "<?x <description>%s</description> ?>",
	"<a b='<description>%s</description>'/>", "<a b='>'/>%s", "<!x <description>%s</description>>", "<description>%s", "%s</description>", "<b>%s",
	"<title>%s</title>", "<guid>%s</guid>", "<category>%s</category>", "<link>/a</link>%s", "<id>1</id>%s",
}

var documents = []string{
	`<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>F</title>%s</channel></rss>`,
	`<rss><channel><title>F</title>%s</channel></rss>`, `<rss xml:base="http://c.example/"><channel><title>F</title>%s</channel></rss>`,
	`<rss xmlns="http://purl.org/dc/elements/1.1/"><channel><title>F</title>%s</channel></rss>`, `<rss xmlns="http://d.example/"><channel><title>F</title>%s</channel></rss>`,
	`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>F</title></channel>%s</rdf:RDF>`,
	`<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title>%s</feed>`, `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://c.example/"><title>F</title>%s</feed>`,
	`<feed><title>F</title>%s</feed>`, `<feed xmlns="http://www.w3.org/2005/atom"><title>F</title>%s</feed>`,
	`<!DOCTYPE rss [<!ENTITY a "<description>">]><rss><channel><title>F</title>%s</channel></rss>`,
	`<rss><channel><title>F</title>%s<items><item><title>B</title></item></items></channel></rss>`,
	`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><item rdf:about="x"><title>B</title></item>%s</rdf:RDF>`,
	`<html><body>%s</body></html>`, `<rss><channel><title>F</title>%s`,
}

// R1.6: a document that is read without its texts is read like the whole of it, wherever texts stand and whatever is in them.
func TestLightDocumentsAreReadLikeWholeOnes(t *testing.T) {
	t.Parallel()
	texts := longTexts()
	light := 0
	check := func(t rapid.TB, document string) {
		text := feedxml.Readable([]byte(document), "")
		if isLight(text) {
			light++
		}
		checkAlike(t, text)
	}
	combination := 0
	for _, document := range documents {
		for _, element := range elements {
			for _, text := range texts {
				if combination++; combination%portion.Of(1, 97) != 0 {
					continue
				}
				inside := strings.ReplaceAll(element, "%s", text)
				check(t, fmt.Sprintf(document, "<item><guid>1</guid>"+inside+"</item>"))
				check(t, fmt.Sprintf(document, "<entry><id>1</id>"+inside+"</entry>"))
			}
		}
	}
	if least := portion.Of(500, 7); light < least {
		t.Errorf("%d documents were light, want at least %d", light, least)
	}
	t.Logf("%d documents were light", light)
	rapid.Check(t, func(t *rapid.T) {
		var content strings.Builder
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			name := rapid.SampledFrom([]string{"item", "item a='b'", "entry"}).Draw(t, "name")
			content.WriteString("<" + name + ">")
			for range rapid.IntRange(1, 3).Draw(t, "elements") {
				element, text := rapid.SampledFrom(elements).Draw(t, "element"), rapid.SampledFrom(texts).Draw(t, "text")
				content.WriteString(strings.ReplaceAll(element, "%s", text))
			}
			before, _, _ := strings.Cut(name, " ")
			content.WriteString("</" + before + ">")
		}
		check(t, fmt.Sprintf(rapid.SampledFrom(documents).Draw(t, "document"), content.String()))
	})
}

// What a feed looks like of which most is text.
func TestOrdinaryFeedsAreLight(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"RSS", "Atom"} {
		if !isLight(sized(format, 3)) {
			t.Errorf("%s is read as a whole", format)
		}
	}
	for _, body := range corpus(t) {
		if text := feedxml.Readable(body, ""); len(text) > 0 && text[0] == '<' {
			checkAlike(t, text)
		}
	}
}

// R1.6: so is every other document.
func FuzzLight(f *testing.F) {
	texts := longTexts()
	for i, element := range elements {
		inside := strings.ReplaceAll(element, "%s", texts[i%len(texts)])
		f.Add([]byte(fmt.Sprintf(documents[i%len(documents)], "<item><guid>1</guid>"+inside+"</item>")))
		f.Add([]byte(fmt.Sprintf(documents[i%len(documents)], "<entry><id>1</id>"+inside+"</entry>")))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		checkAlike(t, feedxml.Readable(document, ""))
	})
}
