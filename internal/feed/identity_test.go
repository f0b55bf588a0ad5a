// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"regexp"
	"strings"
	"testing"
)

// R1.2: two URLs of one page have one canonical form, and those of two pages have two.
func TestCanonicalURL(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ raw, want string }{
		"http":                         {"http://a.example/x", "//a.example/x"},
		"https":                        {"https://a.example/x", "//a.example/x"},
		"host in capitals":             {"HTTPS://A.Example/X", "//a.example/X"},
		"no path":                      {"https://a.example", "//a.example/"},
		"default port":                 {"http://a.example:80/", "//a.example/"},
		"default port of https":        {"https://a.example:443/", "//a.example/"},
		"other port":                   {"https://a.example:8443/", "//a.example:8443/"},
		"user info":                    {"https://u:p@a.example/", "//a.example/"},
		"fragment":                     {"https://a.example/#Part", "//a.example/#Part"},
		"slash at the end":             {"https://a.example/x/", "//a.example/x/"},
		"parameters in their order":    {"https://a.example/?b=2&a=1&b=1", "//a.example/?b=2&a=1&b=1"},
		"tracking alone":               {"https://a.example/?utm_source=a&UTM_Medium=b", "//a.example/"},
		"tracking among others":        {"https://a.example/?id=7&fbclid=x&p=2&gclid=y&_ga=z&mc_cid=1&mc_eid=2&igshid=3&ref_src=4&yclid=5&msclkid=6", "//a.example/?id=7&p=2"},
		"names that only look like it": {"https://a.example/?utm=1&gclid2=2&ref=3", "//a.example/?utm=1&gclid2=2&ref=3"},
		"a parameter without value":    {"https://a.example/?a&utm_id", "//a.example/?a"},
		"nothing after the mark":       {"https://a.example/?", "//a.example/"},
		"escapes":                      {"https://a.example/a%2Fb%20c?q=%26", "//a.example/a%2Fb%20c?q=%26"},
		"letters, escaped or not":      {"https://a.example/日本", "//a.example/%E6%97%A5%E6%9C%AC"},
		"an address of version 6":      {"https://[2001:DB8::1]:443/", "//[2001:db8::1]/"},
		"no URL":                       {" some words ", "some words"},
		"no host":                      {"mailto:a@b.example", "mailto:a@b.example"},
		"what cannot be read":          {"http://a.example/%zz", "http://a.example/%zz"},
		"the canonical form":           {"//a.example/?id=7", "//a.example/?id=7"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := CanonicalURL(test.raw); got != test.want {
				t.Errorf("%q became %q, want %q", test.raw, got, test.want)
			}
		})
	}
}

// R1.2: an entry has a key for each of its attributes, and by content it is told from all others
// that differ in anything.
func TestIdentify(t *testing.T) {
	t.Parallel()
	distinct := []Entry{
		{Title: "A"}, {Content: "A"}, {Title: "A", Content: "A"}, {Title: "A\x00A"}, {GUID: "A"}, {GUID: "B"},
		{URL: "http://a.example/"}, {GUID: "A", URL: "http://a.example/"},
	}
	seen := map[Keys]Entry{}
	contents := map[Key]Entry{}
	for _, e := range distinct {
		keys := Identify(e)
		if other, found := seen[keys]; found {
			t.Errorf("%+v and %+v have the same keys", other, e)
		}
		if other, found := contents[keys.Content]; found && e.Title+e.Content == "" {
			t.Errorf("%+v and %+v have the same content", other, e)
		}
		seen[keys], contents[keys.Content] = e, e
		if keys.GUID.IsZero() != (e.GUID == "") || keys.URL.IsZero() != (e.URL == "") || keys.Content.IsZero() {
			t.Errorf("%+v has keys %v", e, keys)
		}
		item := IdentifyItem(e.GUID, e.URL, e.Title)
		if item.GUID != keys.GUID || item.URL != keys.URL || item.Title != keys.Title || !item.Content.IsZero() {
			t.Errorf("the item of %+v has keys %v, want %v without content", e, item, keys)
		}
	}
}

// R1.2: a GUID that says no more than the link is told from one that does.
func TestAGUIDThatFollowsTheURL(t *testing.T) {
	t.Parallel()
	for guid, want := range map[string]bool{
		"https://a.example/x":              true,
		"http://A.example/x?utm_source=it": true,
		"https://a.example/x#2":            true,
		"https://a.example/x/2":            false,
		"https://b.example/x":              false,
		"tag:a.example,2026:x":             false,
		"x#2":                              false,
		"":                                 false,
	} {
		if got := Identify(Entry{GUID: guid, URL: "https://a.example/x"}).GUIDFollowsURL; got != want {
			t.Errorf("%q follows the URL: %t, want %t", guid, got, want)
		}
	}
	if Identify(Entry{GUID: "https://a.example/x"}).GUIDFollowsURL {
		t.Error("a GUID follows a URL that is not there")
	}
}

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// R1.2: the name of an item follows from its source and its first trusted attribute.
func TestItemName(t *testing.T) {
	t.Parallel()
	e := Entry{GUID: "1", URL: "http://a.example/1", Title: "A", Content: "C"}
	edited := Entry{GUID: "1", URL: "http://a.example/2", Title: "B"}
	name := ItemName("news", "uid", e, Trust{})
	if want := "news-"; !strings.HasPrefix(name, want) || len(name) != len(want)+13 {
		t.Errorf("name %q, want %q and 13 characters", name, want)
	}
	same := map[string]string{
		"once more":                      ItemName("news", "uid", e, Trust{}),
		"edited and moved":               ItemName("news", "uid", edited, Trust{}),
		"the other attribute distrusted": ItemName("news", "uid", e, Trust{URLsUntrusted: true}),
	}
	for what, got := range same {
		if got != name {
			t.Errorf("%s: %q, want %q", what, got, name)
		}
	}
	different := map[string]string{
		name:                                 "the first",
		ItemName("news", "uid2", e, Trust{}): "another source of this name",
		ItemName("news", "uid", e, Trust{GUIDsUntrusted: true}):                                                          "by URL",
		ItemName("news", "uid", e, Trust{GUIDsUntrusted: true, URLsUntrusted: true}):                                     "by title",
		ItemName("news", "uid", Entry{Title: "A", Content: "C"}, Trust{Shared: map[Key]bool{keyOf("title", "A"): true}}): "by content",
		ItemName("news", "uid", Entry{GUID: "2"}, Trust{}):                                                               "another GUID",
		ItemName("news", "uid", Entry{URL: "1"}, Trust{}):                                                                "a URL that reads like the GUID",
		ItemName("news", "uid", Entry{Title: "1"}, Trust{}):                                                              "a title that reads like the GUID",
		ItemName("", "uid", e, Trust{}):                                                                                  "no source",
	}
	if len(different) != 9 {
		t.Errorf("different identities share a name: %v", different)
	}
	for _, source := range []string{"", "a", "a.b", strings.Repeat("a", 49) + "b", strings.Repeat("a", 48) + "-b", strings.Repeat("a", 48) + ".b",
		strings.Repeat("a.", 100) + "a", strings.Repeat("a", 253)} {
		if got := ItemName(source, "uid", e, Trust{}); len(got) > 63 || !objectName.MatchString(got) {
			t.Errorf("source %q: the name %q is not valid", source, got)
		}
	}
}
