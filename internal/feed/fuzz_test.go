// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// R1.6: whatever the bytes are, the result is within its bounds, or an error of the right kind.
func FuzzParse(f *testing.F) {
	f.Add([]byte(rssWith("<item><title>A</title><link>/x</link><pubDate>Fri, 20 Nov 2026 13:05:06 JST</pubDate></item>")), "text/xml; charset=utf-8")
	f.Add([]byte(atomWith("<entry><id>1</id><link href='x'/><content type='html'>&lt;p></content></entry>")), "")
	f.Add([]byte(jsonWith(`{"id":"1","authors":[null],"url":"/x"},null`)), "application/feed+json")
	f.Add([]byte("\xff\xfe<\x00r\x00s\x00s\x00>\x00"), "")
	f.Add([]byte("<rss><channel><title>\x82\xa0\x82\xa2</title><item><title>\x1b$B$\"\x1b(B"), "text/xml; charset=shift_jis")
	f.Add([]byte(`<!DOCTYPE html><link rel=alternate type=application/rss+xml href=//a>`), "text/html")
	documents := corpus(f)
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if strings.HasPrefix(name, "parser/universal/") {
			f.Add(documents[name], "")
		}
	}
	f.Add([]byte("<rss><channel><title>T</title><item><title>a</b></title><item>b</item></i></channel>"), "")
	f.Add([]byte(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><item rdf:about="a&quot;b"/><item rdf:about='<'><b></item>`), "")
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/atom"><entry><id>1<entry></feed>`), "")
	f.Add([]byte(jsonWith(`{"id":1,"title":[],"tags":"a","authors":{},"date_published":1795179906}`)), "")
	f.Add([]byte(rssWith("<itunes:category><image><title>t<link>l<item><title>A</title ><enclosure><guid>1</GUID></item><items><item><title>B</items>")), "")
	f.Add([]byte(atomWith("<link href='x'><entries><entry><title>A<id>1</id></entry\n><entry><content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'></content></entry>")), "")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		document, err := Parse(body, contentType, base)
		if again, err2 := Parse(body, contentType, base); !reflect.DeepEqual(document, again) || (err == nil) != (err2 == nil) ||
			err != nil && err.Error() != err2.Error() {
			t.Fatalf("the second time it was read as %+v, %v", again, err2)
		}
		if err != nil {
			var failed *failure.Error
			if !errors.As(err, &failed) || failed.Category != v1alpha1.CategoryValidation || failed.Stack != "" ||
				failed.Type != failure.TypeNotAFeed && failed.Type != failure.TypeMalformed {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if len(document.Entries) > MaxEntries || utf8.RuneCountInString(document.Title) > 512 || len(document.Format) > 64 {
			t.Fatalf("%d entries, title %q, format %q", len(document.Entries), document.Title, document.Format)
		}
		trust := trustIn(document.Entries)
		if len(distinct(document.Entries)) != len(document.Entries) {
			t.Fatal("an entry is there twice, or says nothing")
		}
		for _, entry := range document.Entries {
			checkBounds(t, entry)
			plaintext.Text(entry.Content)
			ItemName("source", "uid", entry, trust)
		}
	})
}

func checkBounds(t *testing.T, e Entry) {
	t.Helper()
	within := func(what, text string, limit int) {
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > limit {
			t.Errorf("%s %q is above %d characters or no text", what, text, limit)
		}
	}
	within("GUID", e.GUID, 2048)
	within("URL", e.URL, 4096)
	within("title", e.Title, 1024)
	within("author", e.Author, 256)
	within("content", e.Content, 1<<30)
	within("description", e.Description, 1<<30)
	for _, category := range e.Categories {
		within("category", category, 128)
	}
	if len(e.Categories) > 32 {
		t.Errorf("%d categories", len(e.Categories))
	}
	if parsed, err := url.Parse(e.URL); e.URL != "" && (err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https") {
		t.Errorf("URL %q: %v", e.URL, err)
	}
	if _, err := e.Published.MarshalJSON(); err != nil {
		t.Errorf("published %v: %v", e.Published, err)
	}
}

// R1.2: identity follows from an entry and its source alone, and not from what a link says of the
// way to it; the names of items can be stored.
func FuzzIdentity(f *testing.F) {
	f.Add("1", "a.example/1?id=7", "A", "C", "news")
	f.Add("", "", "", "", "")
	f.Add("a\x00b", "A.example:80#x", "\x00", "", "a.-b")
	f.Fuzz(func(t *testing.T, guid, link, title, content, source string) {
		entry := Entry{GUID: guid, URL: resolver{}.resolve("http://" + link), Title: title, Content: content}
		keys := Identify(entry)
		if keys != Identify(entry) || keys.Content.IsZero() || keys.GUID.IsZero() != (guid == "") || keys.URL.IsZero() != (entry.URL == "") {
			t.Fatalf("%+v has the keys %v", entry, keys)
		}
		if item := IdentifyItem(entry.GUID, entry.URL, entry.Title); item.GUID != keys.GUID || item.URL != keys.URL || item.Title != keys.Title {
			t.Fatalf("the item of %+v has the keys %v, want %v", entry, item, keys)
		}
		for _, trust := range []Trust{{}, {GUIDsUntrusted: true}, {URLsUntrusted: true}, {GUIDsUntrusted: true, URLsUntrusted: true}} {
			if keys.Trusted(trust).First().IsZero() {
				t.Fatalf("%+v cannot be known under %+v", entry, trust)
			}
			if name := ItemName("news", source, entry, trust); name != ItemName("news", source, entry, trust) || !objectName.MatchString(name) {
				t.Fatalf("the name %q is not valid", name)
			}
		}
		if entry.URL == "" {
			return
		}
		other := entry
		other.URL = "https" + strings.TrimPrefix(entry.URL, "http")
		parsed, err := url.Parse(entry.URL)
		if err != nil || parsed.Port() != "" {
			return
		}
		if Identify(other).URL != keys.URL {
			t.Fatalf("%s and %s are two", entry.URL, other.URL)
		}
		parsed.RawQuery = strings.Trim("mc_cid=1&"+parsed.RawQuery+"&utm_source=x", "&")
		if other.URL = parsed.String(); Identify(other).URL != keys.URL {
			t.Fatalf("%s and %s are two", entry.URL, other.URL)
		}
	})
}

// R1.2: the canonical form is that of itself, of the other scheme, and of the URL with tracking.
func FuzzCanonicalURL(f *testing.F) {
	f.Add("https://A.example:443/x%20y?b=2&utm_source=x&a=1#z")
	f.Add("http://[::1%25en0]:80?fbclid")
	f.Add("//a/?&&x&#")
	f.Fuzz(func(t *testing.T, raw string) {
		canonical := CanonicalURL(raw)
		if again := CanonicalURL(canonical); again != canonical {
			t.Errorf("%q became %q, and that became %q", raw, canonical, again)
		}
		parsed, err := url.Parse(raw)
		if err != nil || parsed.Host == "" || parsed.Port() != "" || parsed.Scheme != "http" || parsed.RawQuery == "" {
			return
		}
		if other := CanonicalURL("https" + strings.TrimSpace(raw)[len("http"):]); other != canonical {
			t.Errorf("%q became %q, and %q with https", raw, canonical, other)
		}
		parsed.RawQuery = strings.TrimSpace(parsed.RawQuery) // at the end of a URL it is trimmed
		plain := parsed.String()
		if _, err := url.Parse(plain); err != nil {
			return // net/url cannot read again what it has written of an odd zone
		}
		parsed.RawQuery = "utm_source=x&" + parsed.RawQuery + "&fbclid=y"
		if want, got := CanonicalURL(plain), CanonicalURL(parsed.String()); got != want {
			t.Errorf("%q became %q, and %q with tracking", plain, want, got)
		}
	})
}
