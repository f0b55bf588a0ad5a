// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
)

const base = "https://feeds.example/dir/feed.xml"

func rssWith(items string) string {
	return `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"` +
		` xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom">` +
		`<channel><title>T</title><link>https://site.example/</link>` + items + `</channel></rss>`
}

func atomWith(entries string) string {
	return `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>urn:f</id>` + entries + `</feed>`
}

func jsonWith(items string) string {
	return `{"version":"https://jsonfeed.org/version/1.1","title":"T","home_page_url":"https://site.example/","items":[` + items + `]}`
}

// one parses a document that lists one entry and is whole.
func one(t *testing.T, body string) Entry {
	t.Helper()
	document, err := Parse([]byte(body), "", base)
	if err != nil {
		t.Fatal(err)
	}
	if len(document.Entries) != 1 || document.Warning() != "" {
		t.Fatalf("entries %+v, warning %q, want one entry", document.Entries, document.Warning())
	}
	return document.Entries[0]
}

// R1.1: all formats give the same facts.
func TestFormats(t *testing.T) {
	t.Parallel()
	published := time.Date(2026, 11, 20, 4, 5, 6, 0, time.UTC)
	want := Document{
		Title: "Feed", Link: "https://site.example/", Language: "en",
		Entries: []Entry{{
			GUID: "id-1", URL: "https://site.example/1", Title: "One & only", Author: "Ann", Categories: []string{"go", "k8s"},
			Published: published, Content: "<p>Long</p>", Description: "Short",
		}},
	}
	tests := map[string]struct {
		body string
		want func(*Document)
	}{
		"RSS 2.0": {body: `<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
			<title>Feed</title><link>https://site.example/</link><language>en</language>
			<item><guid isPermaLink="false">id-1</guid><link>https://site.example/1</link><title>One &amp; only</title>
			<author>ann@site.example (Ann)</author><category>go</category><category>k8s</category>
			<pubDate>Fri, 20 Nov 2026 04:05:06 GMT</pubDate><description>Short</description>
			<content:encoded><![CDATA[<p>Long</p>]]></content:encoded></item></channel></rss>`},
		"RSS 1.0": {body: `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
			xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">
			<channel rdf:about="x"><title>Feed</title><link>https://site.example/</link><dc:language>en</dc:language></channel>
			<item rdf:about="https://site.example/1"><link>https://site.example/1</link><title>One &amp; only</title>
			<dc:creator>Ann</dc:creator><dc:subject>go</dc:subject><dc:subject>k8s</dc:subject>
			<dc:date>2026-11-20T13:05:06+09:00</dc:date><description>Short</description>
			<content:encoded><![CDATA[<p>Long</p>]]></content:encoded></item></rdf:RDF>`,
			want: func(d *Document) { d.Entries[0].GUID = "https://site.example/1" }},
		"RSS 1.1": {body: `<?xml version="1.0"?><Channel xmlns="http://purl.org/net/rss1.1#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
			xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" rdf:about="x">
			<title>Feed</title><link>https://site.example/</link><description>About</description><dc:language>en</dc:language>
			<image rdf:parseType="Resource"><title>Image</title><url>https://site.example/x.png</url></image>
			<items rdf:parseType="Collection"><item rdf:about="https://site.example/1"><title>One &amp; only</title>
			<link>https://site.example/1</link><dc:creator>Ann</dc:creator><dc:subject>go</dc:subject><dc:subject>k8s</dc:subject>
			<dc:date>2026-11-20T13:05:06+09:00</dc:date><description>Short</description>
			<content:encoded><![CDATA[<p>Long</p>]]></content:encoded></item></items></Channel>`,
			want: func(d *Document) { d.Entries[0].GUID = "https://site.example/1" }},
		"RSS 0.92": {body: `<rss version="0.92"><channel><title>Feed</title><link>https://site.example/</link><language>en</language>
			<item><description>Short</description></item></channel></rss>`,
			want: func(d *Document) { d.Entries[0] = Entry{Content: "Short"} }},
		"RSS 0.9": {body: `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://my.netscape.com/rdf/simple/0.9/">
			<channel><title>Feed</title><link>https://site.example/</link></channel>
			<item><title>One &amp; only</title><link>https://site.example/1</link></item></rdf:RDF>`,
			want: func(d *Document) {
				d.Language, d.Entries[0] = "", Entry{URL: "https://site.example/1", Title: "One & only"}
			}},
		"RSS 0.91": {body: `<rss version="0.91"><channel><title>Feed</title><link>https://site.example/</link><language>en</language>
			<item><title>One &amp; only</title><link>https://site.example/1</link><description>Short</description></item></channel></rss>`,
			want: func(d *Document) {
				d.Entries[0] = Entry{URL: "https://site.example/1", Title: "One & only", Content: "Short"}
			}},
		"Atom 1.0": {body: `<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>Feed</title><link href="https://site.example/"/>
			<author><name>Ann</name></author>
			<entry><id>id-1</id><link rel="self" href="https://site.example/1.atom"/><link rel="alternate" type="application/json"
			href="https://site.example/1.json"/><link rel="alternate" type="text/html" href="https://site.example/1"/>
			<title type="html">One &amp;amp; only</title><category term="go"/><category term="k8s"/>
			<published>2026-11-20T04:05:06Z</published><updated>2026-11-21T00:00:00Z</updated>
			<summary>Short</summary><content type="html">&lt;p>Long&lt;/p></content></entry></feed>`},
		"Atom 0.3": {body: `<feed version="0.3" xmlns="http://purl.org/atom/ns#" xml:lang="en"><title>Feed</title>
			<link rel="alternate" href="https://site.example/"/>
			<entry><id>id-1</id><link rel="alternate" href="https://site.example/1"/><title>One &amp; only</title>
			<author><name>Ann</name></author><issued>2026-11-20T04:05:06Z</issued><summary>Short</summary>
			<content type="text/html" mode="escaped">&lt;p&gt;Long&lt;/p&gt;</content></entry></feed>`,
			want: func(d *Document) { d.Entries[0].Categories = nil }},
		"JSON Feed 1.1": {body: `{"version":"https://jsonfeed.org/version/1.1","title":"Feed","home_page_url":"https://site.example/",
			"language":"en","items":[{"id":"id-1","url":"https://site.example/1","title":"One & only","authors":[{"name":"Ann"}],
			"tags":["go","k8s"],"date_published":"2026-11-20T13:05:06+09:00","summary":"Short","content_html":"<p>Long</p>"}]}`},
		"JSON Feed 1.0": {body: `{"version":"https://jsonfeed.org/version/1","title":"Feed","home_page_url":"https://site.example/",
			"language":"en","author":{"name":"Ann"},"items":[{"id":7,"url":"/1","title":"One & only",
			"tags":["go","k8s"],"date_published":"2026-11-20T04:05:06Z","summary":"Short","content_text":"<p>Long</p>"}]}`,
			want: func(d *Document) { d.Entries[0].GUID, d.Language = "7", "en" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := want
			want.Format = name
			want.Entries = append([]Entry(nil), want.Entries...)
			if test.want != nil {
				test.want(&want)
			}
			got, err := Parse([]byte(test.body), "", base)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// R1.1: RSS 1.1 is read in all its spellings, and damaged as other formats are.
func TestRSS11(t *testing.T) {
	t.Parallel()
	const namespaces = ` xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:r="http://purl.org/net/rss1.1#"`
	item := func(name string) string {
		return `<r:item rdf:about="https://a.example/` + name + `"><r:title>` + name + `</r:title></r:item>`
	}
	tests := map[string]struct {
		body       string
		want       []string
		wantDamage string
	}{
		"with a prefix":          {`<r:Channel` + namespaces + `><r:title>T</r:title><r:items>` + item("A") + item("B") + `</r:items></r:Channel>`, []string{"A", "B"}, ""},
		"without the list":       {`<r:Channel` + namespaces + `><r:title>T</r:title>` + item("A") + `</r:Channel>`, []string{"A"}, ""},
		"with an empty list":     {`<r:Channel` + namespaces + `><r:title>T</r:title><r:items/></r:Channel>`, nil, ""},
		"with space in the tags": {`<r:Channel` + namespaces + ` ><r:title>T</r:title ><r:items >` + item("A") + "</r:items\n></r:Channel >", []string{"A"}, ""},
		"cut off":                {`<r:Channel` + namespaces + `><r:title>T</r:title><r:items>` + item("A") + `<r:item><r:title>`, []string{"A"}, "unexpected EOF"},
		"with a tag not closed":  {`<r:Channel` + namespaces + `><r:title>T<r:items>` + item("A") + `</r:items></r:Channel>`, []string{"A"}, "the end tag of <r:title> is missing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := Parse([]byte(test.body), "", base)
			if err != nil {
				t.Fatal(err)
			}
			if got := titles(document); !slices.Equal(got, test.want) || document.Format != "RSS 1.1" || document.Title != "T" {
				t.Errorf("%s %q with titles %q, want %q", document.Format, document.Title, got, test.want)
			}
			if !strings.Contains(document.Damage, test.wantDamage) || (document.Damage == "") != (test.wantDamage == "") {
				t.Errorf("damage %q, want %q", document.Damage, test.wantDamage)
			}
		})
	}
}

// R1.6: an answer that is no feed is an error that says what it is, not an empty feed.
func TestNoFeed(t *testing.T) {
	t.Parallel()
	page := `<!DOCTYPE html><html><head><link rel="stylesheet" href="/x.css"><link rel="self" type="application/rss+xml" href="/self.xml">` +
		`<link rel="alternate" type="application/rss+xml" href="/feed.xml">`
	tests := map[string]struct{ body, contentType, wantType, wantWords string }{
		"nothing":                         {"", "", failure.TypeNotAFeed, "empty"},
		"white space":                     {" \n\t", "", failure.TypeNotAFeed, "empty"},
		"a web page that names a feed":    {page, "text/html", failure.TypeNotAFeed, "web page, not with a feed. The page names this feed: https://feeds.example/feed.xml"},
		"a web page that says it is XML":  {page, "application/rss+xml", failure.TypeNotAFeed, "web page"},
		"a web page without a feed":       {"<html><body>hello <rss> world", "", failure.TypeNotAFeed, "the page names no feed"},
		"XHTML":                           {`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head/></html>`, "", failure.TypeNotAFeed, "web page"},
		"an empty JSON object":            {"{}", "", failure.TypeNotAFeed, "JSON"},
		"an error in JSON":                {`{"error":"no such feed","items":[]}`, "application/feed+json", failure.TypeNotAFeed, "JSON"},
		"a JSON list":                     {`[{"title":"x"}]`, "", failure.TypeNotAFeed, "JSON"},
		"JSON of some API":                {`{"items":[{"id":1,"title":"x"}],"total":1}`, "", failure.TypeNotAFeed, "JSON"},
		"an empty rss element":            {"<rss/>", "", failure.TypeNotAFeed, "holds nothing"},
		"an empty channel":                {"<rss><channel></channel></rss>", "", failure.TypeNotAFeed, "holds nothing"},
		"an empty feed element":           {"<feed/>", "", failure.TypeNotAFeed, "holds nothing"},
		"a web page with a base":          {`<html><head><base href="https://site.example/blog/"><link rel=alternate type=application/atom+xml href=atom.xml>`, "text/html", failure.TypeNotAFeed, "names this feed: https://site.example/blog/atom.xml"},
		"a web page that names two feeds": {page + `<link rel="Alternate" type="application/feed+json" href="feed.json"><link rel="alternate" type="application/rss+xml" href="/feed.xml">`, "text/html", failure.TypeNotAFeed, "names these feeds: https://feeds.example/feed.xml https://feeds.example/dir/feed.json"},
		"a feed with a secret":            {`<html><head><link rel="alternate" type="application/rss+xml" href="https://u:p@a.example/feed?token=x">`, "text/html", failure.TypeNotAFeed, "names this feed: https://a.example/feed"},
		"a challenge of Cloudflare":       {`<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script>`, "text/html", failure.TypeNotAFeed, `lets only people pass, not with a feed ("Just a moment..."): a protection against bots`},
		"a captcha":                       {`<html><head><title>Security check</title></head><body><div class="g-recaptcha"></div>`, "text/html", failure.TypeNotAFeed, "lets only people pass"},
		"a page with a contact form":      {`<html><head><title>We</title></head><body>` + strings.Repeat("words ", 4000) + `<div class="g-recaptcha"></div>`, "text/html", failure.TypeNotAFeed, `a web page ("We"), not with a feed, and the page names no feed`},
		"a page to log in":                {`<html><head><title>Welcome</title></head><body><form><input name=p type=Password></form>`, "text/html", failure.TypeNotAFeed, `a page to log in, not with a feed ("Welcome")`},
		"a parked domain":                 {`<html><head><title>site.example is for sale</title></head>`, "text/html", failure.TypeNotAFeed, "a domain that is for sale"},
		"a page that was not found":       {`<html><head><title>404 Not Found</title></head>`, "text/html", failure.TypeNotAFeed, "the feed was not found"},
		"a page without an html element":  {`<title>Hello</title><body>hi`, "text/html", failure.TypeNotAFeed, `a web page ("Hello")`},
		"other XML":                       {`<Error><Code>AccessDenied</Code></Error>`, "text/xml", failure.TypeNotAFeed, "<Error>"},
		"OPML":                            {`<opml version="2.0"><body/></opml>`, "text/xml", failure.TypeNotAFeed, "OPML, a list of feeds"},
		"CDF":                             {`<?xml version="1.0"?><!DOCTYPE Channel SYSTEM "x.dtd"><CHANNEL HREF="http://x/"><ITEM HREF="http://x/1"/></CHANNEL>`, "text/xml", failure.TypeNotAFeed, "Channel Definition Format (CDF)"},
		"an empty channel of RSS 1.1":     {`<Channel xmlns="http://purl.org/net/rss1.1#"/>`, "text/xml", failure.TypeNotAFeed, "holds nothing"},
		"a sitemap":                       {`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>`, "text/xml", failure.TypeNotAFeed, "sitemap"},
		"an index of sitemaps":            {`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>`, "text/xml", failure.TypeNotAFeed, "sitemaps"},
		"one entry of Atom":               {`<entry xmlns="http://www.w3.org/2005/Atom"><id>1</id></entry>`, "", failure.TypeNotAFeed, "a single entry in Atom"},
		"words":                           {"Not found", "text/plain", failure.TypeNotAFeed, "neither XML nor JSON"},
		"RDF of something else":           {`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><x:Person xmlns:x="urn:x"/></rdf:RDF>`, "", failure.TypeNotAFeed, "holds nothing"},
		"XML that breaks off at once":     {`<rss version="2.0"><channel><title>T`, "", failure.TypeMalformed, "no entry"},
		"JSON Feed that breaks off early": {`{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":`, "", failure.TypeMalformed, "no entry"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := Parse([]byte(test.body), test.contentType, base)
			var failed *failure.Error
			if !errors.As(err, &failed) {
				t.Fatalf("document %+v, error %v, want a *failure.Error", document, err)
			}
			if failed.Category != v1alpha1.CategoryValidation || failed.Type != test.wantType || !strings.Contains(failed.Error(), test.wantWords) {
				t.Errorf("%s %s %q, want %s with %q", failed.Category, failed.Type, failed.Error(), test.wantType, test.wantWords)
			}
		})
	}
}

// R1.6: a feed without entries is a feed.
func TestFeedWithoutEntries(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"<rss><channel><title>T</title></channel></rss>", atomWith(""), jsonWith(""),
		`{"version":"https://jsonfeed.org/version/1.1","title":"T","items":null}`,
	} {
		document, err := Parse([]byte(body), "", base)
		if err != nil || document.Title != "T" || len(document.Entries) != 0 || document.Warning() != "" {
			t.Errorf("%s: %+v, %v, want an empty feed", body, document, err)
		}
	}
}

// R1.6: entries lack what they like, and have it in odd places.
func TestOddEntries(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("長", 3000)
	tests := map[string]struct {
		body string
		want Entry
	}{
		"nothing but a title": {rssWith("<item><title>A</title></item>"), Entry{Title: "A"}},
		"nothing but a link":  {rssWith("<item><link>http://a.example/x</link></item>"), Entry{URL: "http://a.example/x"}},
		"the GUID is the link when nothing is declared": {
			rssWith("<item><guid>https://a.example/1</guid></item>"), Entry{GUID: "https://a.example/1", URL: "https://a.example/1"}},
		"the GUID is the link when that is declared": {
			rssWith(`<item><guid isPermaLink="TRUE">https://a.example/1</guid></item>`), Entry{GUID: "https://a.example/1", URL: "https://a.example/1"}},
		"the GUID is not the link": {
			rssWith(`<item><guid isPermaLink="false">https://a.example/1</guid></item>`), Entry{GUID: "https://a.example/1"}},
		"the GUID is no URL":        {rssWith(`<item><guid>tag:1</guid></item>`), Entry{GUID: "tag:1"}},
		"the link comes first":      {rssWith(`<item><guid>https://a.example/1</guid><link>/2</link></item>`), Entry{GUID: "https://a.example/1", URL: "https://site.example/2"}},
		"a link in Atom's form":     {rssWith(`<item><title>A</title><atom:link href="https://a.example/1"/></item>`), Entry{Title: "A", URL: "https://a.example/1"}},
		"a link of another kind":    {rssWith(`<item><title>A</title><link>javascript:alert(1)</link></item>`), Entry{Title: "A"}},
		"a link that is too long":   {rssWith(`<item><title>A</title><link>https://a.example/` + strings.Repeat("a", 4100) + `</link></item>`), Entry{Title: "A"}},
		"a password in the link":    {rssWith(`<item><title>A</title><link>https://u:p@a.example/</link></item>`), Entry{Title: "A", URL: "https://a.example/"}},
		"a GUID with spaces around": {rssWith("<item><guid isPermaLink=\"false\">\n a  b </guid></item>"), Entry{GUID: "a b"}},
		"a GUID that is too long": {rssWith(`<item><guid>` + strings.Repeat("g", 2049) + `</guid></item>`),
			Entry{GUID: "sha256:53c69b250cff68de72d891efec9f71075fc85c7f2bae30f843be7a3e145c845f"}},
		"a title that is too long":   {rssWith("<item><title>" + long + "</title></item>"), Entry{Title: long[:3*1024]}},
		"an author that is too long": {rssWith("<item><title>A</title><author>" + long + "</author></item>"), Entry{Title: "A", Author: long[:3*256]}},
		"an author in no known form": {rssWith("<item><title>A</title><author>Ann (Editor) (Paris)</author></item>"), Entry{Title: "A", Author: "Ann (Editor) (Paris)"}},
		"a category that is too long, an empty one, and one twice": {
			rssWith("<item><title>A</title><category>" + long + "</category><category> </category><category>b</category><category>b</category></item>"),
			Entry{Title: "A", Categories: []string{long[:3*128], "b"}}},
		"content and description are the same": {
			rssWith("<item><description>D</description><content:encoded>D</content:encoded></item>"), Entry{Content: "D"}},
		"a description in Media RSS": {
			rssWith("<item><title>A</title><media:group><media:description>D</media:description></media:group></item>"), Entry{Title: "A", Content: "D"}},
		"an image as Atom content": {
			atomWith(`<entry><id>1</id><summary>S</summary><content type="image/png">iVBORw0KGgo=</content></entry>`), Entry{GUID: "1", Content: "S"}},
		"XHTML as Atom content": {
			atomWith(`<entry><id>1</id><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Hi</p></div></content></entry>`),
			Entry{GUID: "1", Content: "<p>Hi</p>"}},
		"no alternate link in Atom":       {atomWith(`<entry><id>https://a.example/1</id><link rel="self" href="/x"/></entry>`), Entry{GUID: "https://a.example/1"}},
		"an id that is a URL in Atom":     {atomWith(`<entry><id> http://a.example/1 </id><title>A</title></entry>`), Entry{GUID: "http://a.example/1", URL: "http://a.example/1", Title: "A"}},
		"an id and an enclosure in Atom":  {atomWith(`<entry><id>https://a.example/1</id><link rel="enclosure" href="/x.mp3"/></entry>`), Entry{GUID: "https://a.example/1", URL: "https://a.example/1"}},
		"an id and a link in Atom":        {atomWith(`<entry><id>https://a.example/?p=1</id><link href="https://a.example/1"/></entry>`), Entry{GUID: "https://a.example/?p=1", URL: "https://a.example/1"}},
		"an id that is no URL in Atom":    {atomWith(`<entry><id>tag:a.example,2026:1</id><title>A</title></entry>`), Entry{GUID: "tag:a.example,2026:1", Title: "A"}},
		"about in RSS 1.0":                {`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>T</title></channel><item rdf:about="https://a.example/1"><title>A</title></item></rdf:RDF>`, Entry{GUID: "https://a.example/1", URL: "https://a.example/1", Title: "A"}},
		"xml:base":                        {atomWith(`<entry xml:base="https://b.example/blog/"><id>urn:1</id><link href="x"/></entry>`), Entry{GUID: "urn:1", URL: "https://b.example/blog/x"}},
		"a link relative to the document": {atomWith(`<entry><id>1</id><link href="x?y=1"/></entry>`), Entry{GUID: "1", URL: "https://feeds.example/dir/x?y=1"}},
		"null items, null authors and null tags in JSON": {
			jsonWith(`null,{"id":"1","authors":[null],"tags":null,"attachments":null,"author":null},null`), Entry{GUID: "1"}},
		"an external URL in JSON":               {jsonWith(`{"id":"1","external_url":"https://a.example/"}`), Entry{GUID: "1", URL: "https://a.example/"}},
		"an id that is a URL in JSON":           {jsonWith(`{"id":"https://a.example/1"}`), Entry{GUID: "https://a.example/1", URL: "https://a.example/1"}},
		"a character that no text has, in JSON": {jsonWith(`{"id":"1","content_text":"a\u0000b\u202ec"}`), Entry{GUID: "1", Content: "ab\u202ec"}},
		"rdf:about that is no link": {
			`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>T</title></channel><item rdf:about="urn:1&amp;2"><title>A</title></item></rdf:RDF>`,
			Entry{GUID: "urn:1&2", Title: "A"}},
		"rdf:about with a prefix, and no link": {
			`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:r="http://purl.org/rss/1.0/"><r:channel><r:title>T</r:title></r:channel><r:item rdf:about="http://a.example/1"><r:title>A</r:title></r:item></rdf:RDF>`,
			Entry{GUID: "http://a.example/1", URL: "http://a.example/1", Title: "A"}},
		"rdf:about beside a GUID": {
			`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>T</title></channel><item rdf:about="urn:1"><guid isPermaLink="false">2</guid></item></rdf:RDF>`,
			Entry{GUID: "2"}},
		"a link that FeedBurner has replaced": {
			`<rss version="2.0" xmlns:fb="http://rssnamespace.org/feedburner/ext/1.0"><channel><title>T</title><item><title>A</title><link>http://feedproxy.example/1</link><fb:origLink>https://site.example/1</fb:origLink></item></channel></rss>`,
			Entry{Title: "A", URL: "https://site.example/1"}},
		"the same in Atom": {
			atomWith(`<entry><id>1</id><link href="http://feedproxy.example/1"/><origLink xmlns="http://rssnamespace.org/feedburner/ext/1.0">https://site.example/1</origLink></entry>`),
			Entry{GUID: "1", URL: "https://site.example/1"}},
		"a link without its scheme":          {rssWith(`<item><title>A</title><link>www.example.com/x</link></item>`), Entry{Title: "A", URL: "https://www.example.com/x"}},
		"a link without its scheme only":     {rssWith(`<item><title>A</title><link>//cdn.example/x</link></item>`), Entry{Title: "A", URL: "https://cdn.example/x"}},
		"a link in CDATA, with white space":  {rssWith("<item><link>\n<![CDATA[ http://a.example/x?a=1&b=2 ]]>\n</link></item>"), Entry{URL: "http://a.example/x?a=1&b=2"}},
		"a link whose ampersands are bare":   {rssWith("<item><link>http://a.example/x?a=1&b=2&copy=3</link></item>"), Entry{URL: "http://a.example/x?a=1&b=2&copy=3"}},
		"a relation in capitals":             {atomWith(`<entry><id>1</id><link rel="Alternate" href="https://a.example/1"/></entry>`), Entry{GUID: "1", URL: "https://a.example/1"}},
		"a relation in its long form":        {atomWith(`<entry><id>1</id><link rel="http://www.iana.org/assignments/relation/alternate" href="https://a.example/1"/></entry>`), Entry{GUID: "1", URL: "https://a.example/1"}},
		"content that is elsewhere":          {atomWith(`<entry><id>1</id><content type="text/html" src="https://a.example/1"/></entry>`), Entry{GUID: "1", URL: "https://a.example/1"}},
		"a film that is elsewhere":           {atomWith(`<entry><id>1</id><content type="video/mp4" src="https://a.example/1.mp4"/></entry>`), Entry{GUID: "1"}},
		"an enclosure is not the link":       {atomWith(`<entry><id>1</id><link rel="enclosure" href="https://a.example/1.mp3"/></entry>`), Entry{GUID: "1"}},
		"an episode of a podcast":            {rssWith(`<item><title>A</title><guid isPermaLink="false">1</guid><enclosure url="https://a.example/1.mp3"/><s xmlns="http://www.itunes.com/dtds/podcast-1.0.dtd"/></item>`), Entry{Title: "A", GUID: "1"}},
		"xml:base within xml:base":           {`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://a.example/blog/"><title>T</title><entry xml:base="2026/"><id>urn:1</id><link href="x"/></entry></feed>`, Entry{GUID: "urn:1", URL: "http://a.example/blog/2026/x"}},
		"xml:base in RSS":                    {`<rss version="2.0" xml:base="http://a.example/blog/"><channel><title>T</title><item><title>A</title><link>x</link></item></channel></rss>`, Entry{Title: "A", URL: "http://a.example/blog/x"}},
		"a namespace that is nearly Atom's":  {`<feed xmlns="http://www.w3.org/2005/atom/"><title>T</title><entry><id>1</id><title>A</title></entry></feed>`, Entry{GUID: "1", Title: "A"}},
		"Atom under a prefix":                {`<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>T</a:title><a:entry><a:id>1</a:id><a:link href="https://a.example/1"/></a:entry></a:feed>`, Entry{GUID: "1", URL: "https://a.example/1"}},
		"prefixes that are declared nowhere": {`<rss version="2.0"><channel><title>T</title><item><title>A</title><dc:creator>Bob</dc:creator><content:encoded>C</content:encoded></item></channel></rss>`, Entry{Title: "A", Author: "Bob", Content: "C"}},
		"Media RSS under another prefix":     {`<rss version="2.0" xmlns:m="http://search.yahoo.com/mrss/"><channel><title>T</title><item><m:content url="x"><m:title>A</m:title><m:description>D</m:description></m:content></item></channel></rss>`, Entry{Title: "A", Content: "D"}},
		"a DOCTYPE with HTML's references":   {`<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss version="0.91"><channel><title>T</title><item><title>a&copy;b&hellip;</title></item></channel></rss>`, Entry{Title: "a©b…"}},
		"instructions and comments first":    {`<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="x.xsl"?><!-- <rss> --><rss version="2.0"><channel><title>T</title><item><title>A</title></item></channel></rss>`, Entry{Title: "A"}},
		"escaped twice":                      {rssWith(`<item><title>a &amp;amp; b</title><description>&amp;lt;p&amp;gt;hi&amp;lt;/p&amp;gt;</description></item>`), Entry{Title: "a & b", Content: "&lt;p&gt;hi&lt;/p&gt;"}},
		"CDATA in pieces":                    {rssWith(`<item><title><![CDATA[a]]]]><![CDATA[>b]]></title><description>x <![CDATA[<b>y</b>]]> z</description></item>`), Entry{Title: "a]]>b", Content: "x <b>y</b> z"}},
		"HTML that is not escaped":           {rssWith(`<item><title>A</title><description>x<br>y<p>z</description></item>`), Entry{Title: "A", Content: "x<br>y<p>z</p></br>"}},
		"numbers for texts in JSON": {jsonWith(`{"id":1.5,"title":7,"tags":"x","content_text":true,"date_published":1795179906}`),
			Entry{GUID: "1.5", Title: "7", Categories: []string{"x"}, Content: "true", Published: time.Date(2026, 11, 20, 13, 5, 6, 0, time.UTC)}},
		"a root with a namespace of its own": {
			`<rss version="2.0" xmlns="urn:mine"><channel><title>T</title><item><title>A</title></item></channel></rss>`, Entry{Title: "A"}},
		"names in capitals": {`<RSS><CHANNEL><TITLE>T</TITLE><ITEM><TITLE>A</TITLE></ITEM></CHANNEL></RSS>`, Entry{Title: "A"}},
		"exactly the same entry twice": {
			rssWith(strings.Repeat("<item><guid>1</guid><title>A</title><link>http://a.example/?utm_source=x</link></item>", 2)),
			Entry{GUID: "1", Title: "A", URL: "http://a.example/?utm_source=x"}},
		"entries that say nothing": {rssWith("<item/><item><pubDate>Fri, 20 Nov 2026 04:05:06 GMT</pubDate></item><item><title>A</title></item>"), Entry{Title: "A"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, one(t, test.body)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// R1.6: of a document without end the first entries are used, and it says so.
func TestTooManyEntries(t *testing.T) {
	t.Parallel()
	var items, objects strings.Builder
	for i := range MaxEntries + 5 {
		fmt.Fprintf(&items, "<item><guid>%d</guid></item>", i)
		fmt.Fprintf(&objects, `{"id":"%d"},`, i)
	}
	for _, body := range []string{rssWith(items.String()), jsonWith(strings.TrimSuffix(objects.String(), ","))} {
		document, err := Parse([]byte(body), "", base)
		if err != nil {
			t.Fatal(err)
		}
		if len(document.Entries) != MaxEntries || document.Omitted != 5 || document.Entries[MaxEntries-1].GUID != fmt.Sprint(MaxEntries-1) {
			t.Errorf("%d entries, %d omitted, want the first %d and 5", len(document.Entries), document.Omitted, MaxEntries)
		}
		if want := "The feed lists 10005 entries, only the first 10000 are used."; document.Warning() != want {
			t.Errorf("warning %q, want %q", document.Warning(), want)
		}
	}
}

// R1.6: what follows the entries that are used is only counted, however much it is.
func TestFiftyThousandEntries(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "with fewer entries it is TestTooManyEntries")
	const listed = 50_000
	item := "<item><guid>%d</guid><title>A</title><link>/%[1]d</link><category>a</category><category>b</category><author>c</author></item>"
	var items strings.Builder
	for i := range listed {
		fmt.Fprintf(&items, item, i)
	}
	document, err := Parse([]byte(rssWith(items.String())), "", base)
	if err != nil {
		t.Fatal(err)
	}
	if len(document.Entries) != MaxEntries || document.Omitted != listed-MaxEntries || document.Damage != "" {
		t.Errorf("%d entries, %d omitted, damage %q", len(document.Entries), document.Omitted, document.Damage)
	}
}

// R5.6: credentials in the feed's own address do not get into links.
func TestLinksCarryNoCredentials(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"#part", "x", "/x", "//other.example/x", "?a=b"} {
		body := `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>1</id><link href="` + link + `"/></entry></feed>`
		document, err := Parse([]byte(body), "", "https://user:secret@feeds.example/feed?token=secret")
		if err != nil {
			t.Fatal(err)
		}
		if got := document.Entries[0].URL; got == "" || strings.Contains(got, "secret") {
			t.Errorf("link %q became %q", link, got)
		}
	}
}
