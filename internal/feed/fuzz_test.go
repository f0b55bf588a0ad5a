// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
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
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		document, err := Parse(body, contentType, base)
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
		trust := Trust{}.Observe(document.Entries)
		for _, entry := range document.Entries {
			checkBounds(t, entry)
			Text(entry.Content)
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
		plain := parsed.String()
		parsed.RawQuery = "utm_source=x&" + parsed.RawQuery + "&fbclid=y"
		if want, got := CanonicalURL(plain), CanonicalURL(parsed.String()); got != want {
			t.Errorf("%q became %q, and %q with tracking", plain, want, got)
		}
	})
}

// R2.11: whatever somebody has put into an item, unpacking ends, within bounds.
func FuzzUnpack(f *testing.F) {
	_, compressed := Pack(prose(3000))
	f.Add("", compressed)
	f.Add("plain", "")
	f.Add("", "H4sIAAAAAAAA/wAAAP//AQAA//8AAAAAAAAAAA==")
	f.Fuzz(func(t *testing.T, plain, compressed string) {
		content, err := Unpack(plain, compressed)
		var failed *failure.Error
		if err != nil && !errors.As(err, &failed) || len(content) > 4<<20 && compressed != "" {
			t.Errorf("%d bytes, error %#v", len(content), err)
		}
	})
}

// R1.6: a date is none, or one that can be stored, and reads the same when it is written out.
func FuzzDates(f *testing.F) {
	for _, raw := range []string{"Fri, 20 Nov 2026 13:05:06 JST", "2026年11月20日(金) 13時05分06秒", "Nov 20th, 2026 1:05 p.m. EST",
		"Fri Nov 20 13:05:06 +0900 2026", "20/11/2026", "2026-11-20T13:05:06.789+09:00", "2026-11-20Z", "20.11.26"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		date, sure := parseDate(raw)
		if !sure && !date.IsZero() {
			t.Errorf("%q is %v but not sure", raw, date)
		}
		if date.IsZero() {
			return
		}
		if _, err := date.MarshalJSON(); err != nil {
			t.Errorf("%q is %v: %v", raw, date, err)
		}
		for _, layout := range []string{time.RFC3339, time.RFC1123Z} {
			if again, _ := parseDate(date.Format(layout)); !again.Equal(date) {
				t.Errorf("%q is %v, but %q is %v", raw, date, date.Format(layout), again)
			}
		}
	})
}
