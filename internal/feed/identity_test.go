// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// R1.2: trust ends when different entries of one document share an attribute, for good.
func TestObserve(t *testing.T) {
	t.Parallel()
	entry := func(guid, url, title string) Entry { return Entry{GUID: guid, URL: url, Title: title} }
	tests := map[string]struct {
		before  Trust
		entries []Entry
		want    Trust
	}{
		"no entries":                     {Trust{}, nil, Trust{}},
		"different entries":              {Trust{}, []Entry{entry("1", "http://a.example/1", "A"), entry("2", "http://a.example/2", "A")}, Trust{}},
		"entries with nothing to share":  {Trust{}, []Entry{entry("", "", "A"), entry("", "", "B")}, Trust{}},
		"one GUID":                       {Trust{}, []Entry{entry("1", "http://a.example/1", "A"), entry("1", "http://a.example/2", "B")}, Trust{GUIDsUntrusted: true}},
		"one URL":                        {Trust{}, []Entry{entry("1", "http://a.example/1", "A"), entry("2", "http://a.example/1", "B")}, Trust{URLsUntrusted: true}},
		"one URL in two forms":           {Trust{}, []Entry{entry("1", "http://a.example/1?utm_source=x", "A"), entry("2", "https://A.example/1", "A")}, Trust{URLsUntrusted: true}},
		"one URL with two fragments":     {Trust{}, []Entry{entry("1", "http://a.example/1#a", "A"), entry("2", "http://a.example/1#b", "A")}, Trust{}},
		"one GUID and one URL":           {Trust{}, []Entry{entry("1", "http://a.example/1", "A"), entry("1", "http://a.example/1", "B")}, Trust{true, true}},
		"a GUID here and none there":     {Trust{}, []Entry{entry("1", "http://a.example/1", "A"), entry("", "http://a.example/1", "A")}, Trust{URLsUntrusted: true}},
		"exactly the same":               {Trust{}, []Entry{entry("1", "http://a.example/1", "A"), entry("1", "http://a.example/1", "A")}, Trust{}},
		"the same with tracking":         {Trust{}, []Entry{entry("1", "http://a.example/1?utm_id=1", "A"), entry("1", "https://a.example/1", "A")}, Trust{}},
		"a mark stays":                   {Trust{GUIDsUntrusted: true}, []Entry{entry("1", "", "A"), entry("2", "", "B")}, Trust{GUIDsUntrusted: true}},
		"the same three times, then not": {Trust{}, []Entry{entry("1", "", "A"), entry("1", "", "A"), entry("1", "", "A"), entry("1", "", "B")}, Trust{GUIDsUntrusted: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.before.Observe(test.entries)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
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
		item := IdentifyItem(e.GUID, e.URL)
		if item.GUID != keys.GUID || item.URL != keys.URL || !item.Content.IsZero() {
			t.Errorf("the item of %+v has keys %v, want %v without content", e, item, keys)
		}
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
		ItemName("news", "uid", e, Trust{GUIDsUntrusted: true}): "by URL",
		ItemName("news", "uid", e, Trust{true, true}):           "by content",
		ItemName("news", "uid", Entry{GUID: "2"}, Trust{}):      "another GUID",
		ItemName("news", "uid", Entry{URL: "1"}, Trust{}):       "a URL that reads like the GUID",
		ItemName("news", "uid", Entry{Title: "1"}, Trust{}):     "a title that reads like the GUID",
		ItemName("", "uid", e, Trust{}):                         "no source",
	}
	if len(different) != 8 {
		t.Errorf("different identities share a name: %v", different)
	}
	for _, source := range []string{"", "a", "a.b", strings.Repeat("a", 49) + "b", strings.Repeat("a", 48) + "-b", strings.Repeat("a", 48) + ".b",
		strings.Repeat("a.", 100) + "a", strings.Repeat("a", 253)} {
		if got := ItemName(source, "uid", e, Trust{}); len(got) > 63 || !objectName.MatchString(got) {
			t.Errorf("source %q: the name %q is not valid", source, got)
		}
	}
}
