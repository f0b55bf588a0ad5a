// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/feedxml"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func titles(document *Document) []string {
	var titles []string
	for _, entry := range document.Entries {
		titles = append(titles, entry.Title)
	}
	return titles
}

// R1.6: what can be read of a damaged document is used, and what cannot is said.
func TestDamage(t *testing.T) {
	t.Parallel()
	a, b, c := "<item><title>A</title></item>", "<item><title>B</title></item>", "<item><title>C</title></item>"
	ea, eb := "<entry><title>A</title></entry>", "<entry><title>B</title></entry>"
	tests := map[string]struct {
		body       string
		want       []string
		wantDamage string
	}{
		"the end is missing":        {strings.TrimSuffix(rssWith(a+b), "</channel></rss>"), []string{"A", "B"}, "unexpected EOF"},
		"cut in a title":            {rssWith(a + b + "<item><title>C")[:len(rssWith(a+b+"<item><title>C"))-16], []string{"A", "B"}, "unexpected EOF"},
		"cut in a tag":              {cutAfter(rssWith(a+b+c), "<title>B</ti"), []string{"A"}, "unexpected EOF"},
		"cut in CDATA":              {cutAfter(rssWith(a+"<item><title><![CDATA[B]]></title></item>"), "<![CDATA[B"), []string{"A"}, "unexpected EOF"},
		"cut in RDF":                {cutAfter(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>T</title></channel>`+a+b, "<title>B"), []string{"A"}, "unexpected EOF"},
		"cut in Atom":               {cutAfter(atomWith(ea+eb), "<title>B"), []string{"A"}, "unexpected EOF"},
		"cut in Atom with a prefix": {`<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>T</a:title><a:entry><a:title>A</a:title></a:entry><a:entry><a:tit`, []string{"A"}, "unexpected EOF"},
		"cut in JSON":               {cutAfter(jsonWith(`{"id":"1","title":"A"},{"id":"2","title":"B"}`), `"title":"B`), []string{"A"}, "unexpected EOF"},
		"an entry that the end of the channel closes, and then damage": {strings.TrimSuffix(rssWith(a+"<item><title>B</title>"), "</rss>") + "<", []string{"A"}, "XML syntax error"},
		"a broken entry first":                     {rssWith("<item><title>x < y</title></item>" + b + c), []string{"B", "C"}, "expected element name"},
		"a broken entry between others":            {rssWith(a + "<item><description><p <b></description></item>" + c), []string{"A", "C"}, "XML syntax error"},
		"two broken entries":                       {rssWith("<item><title><</title></item>" + b + "<item><title><</title></item>"), []string{"B"}, "XML syntax error"},
		"an entry that is nested too deep":         {rssWith(a + "<item>" + strings.Repeat("<x>", 300) + strings.Repeat("</x>", 300) + "</item>" + c), []string{"A", "C"}, "nested more than 256 deep"},
		"a tag that is closed by another":          {rssWith("<item><title>A</title><description><p>x</description></item>" + b), []string{"A", "B"}, ""},
		"an end tag too many":                      {rssWith("<item><title>A</title><description><b><i>x</b></i></description></item>" + b + c), []string{"A", "B", "C"}, ""},
		"an end tag from somewhere else":           {rssWith(a + "</p></div>" + b + "<item><title>C</title></item></item>"), []string{"A", "B", "C"}, ""},
		"an end tag too many behind a declaration": {rssWith(a + `<?xml version="1.0" encoding="shift_jis"?></p>` + b), []string{"A", "B"}, ""},
		"an end tag in capitals":                   {rssWith("<item><title>A</TITLE></item>" + b), []string{"A", "B"}, ""},
		"end tags too many in each entry":          {rssWith(strings.Repeat("<item><title>A</title><guid>x</i></guid><description>y</p></description></item>", 1) + strings.Repeat("<item><title>B</title></em></item>", 1) + strings.Repeat("</u>", 100) + c), []string{"A", "B", "C"}, ""},
		"entries that are not closed":              {rssWith("<item><title>A</title><item><title>B</title><item><title>C</title></item>"), []string{"A", "B", "C"}, ""},
		"entries of Atom that are not closed":      {atomWith("<entry><title>A</title><entry><title>B</title></entry>"), []string{"A", "B"}, ""},
		"a member of the wrong type in an item":    {jsonWith(`{"id":"1","title":"A","url":{}}`), []string{"A"}, "url of an entry is not as the format has it: it is an object, not a text"},
		"an entry that is not closed":              {rssWith(a + "<item><title>B</title>"), []string{"A", "B"}, ""},
		"an item of the wrong type in JSON":        {jsonWith(`{"id":"1","title":"A"},{"id":"2","title":[]},{"id":"3","title":"C"}`), []string{"A", "", "C"}, "title of an entry is not as the format has it: it is a list, not a text"},
		"a member of the wrong type in JSON":       {`{"version":"https://jsonfeed.org/version/1.1","title":[7],"items":[{"id":"1","title":"A"}]}`, []string{"A"}, "title of the feed is not as the format has it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := Parse([]byte(test.body), "", base)
			if err != nil {
				t.Fatal(err)
			}
			if got := titles(document); !slices.Equal(got, test.want) {
				t.Errorf("titles %q, want %q", got, test.want)
			}
			if !strings.Contains(document.Damage, test.wantDamage) || (document.Damage == "") != (test.wantDamage == "") {
				t.Errorf("damage %q, want %q", document.Damage, test.wantDamage)
			}
			if (document.Warning() == "") != (test.wantDamage == "") {
				t.Errorf("warning %q for damage %q", document.Warning(), document.Damage)
			}
		})
	}
}

// R1.6: the warning is a sentence, whatever the number.
func TestTheWarningOfADamagedFeed(t *testing.T) {
	t.Parallel()
	document := &Document{Damage: "it ends early", Entries: make([]Entry, 1)}
	if want := "The feed is damaged: it ends early. Entries that could be read: 1."; document.Warning() != want {
		t.Errorf("%q, want %q", document.Warning(), want)
	}
}

func cutAfter(text, part string) string {
	before, _, found := strings.Cut(text, part)
	if !found {
		panic("nothing to cut after")
	}
	return before + part
}

// R1.6: wherever a document is cut off, the entries that were whole before are read, and no other.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	var items, objects, entries strings.Builder
	for i := range 5 {
		fmt.Fprintf(&items, "<item><guid>%d</guid><title>タイトル &amp; %d</title><description><![CDATA[<p>%d</p>]]></description></item>", i, i, i)
		fmt.Fprintf(&entries, "<entry><id>%d</id><title>%d</title><content type='html'>&lt;p&gt;</content></entry>", i, i)
		fmt.Fprintf(&objects, `{"id":"%d","title":"タイトル","authors":[{"name":"x"}]}`+",", i)
	}
	for _, kind := range []struct{ body, end string }{
		{rssWith(items.String()), "</item>"}, {atomWith(entries.String()), "</entry>"},
		{jsonWith(strings.TrimSuffix(objects.String(), ",")), "}]}"},
	} {
		for at := 0; at < len(kind.body); at += portion.Of(1, 3) {
			whole := strings.Count(kind.body[:at], kind.end)
			document, err := Parse([]byte(kind.body[:at]), "", base)
			got := 0
			if err == nil {
				got = len(document.Entries)
			}
			if got != whole {
				t.Fatalf("%d entries (error %v), want %d, after %d bytes: …%s", got, err, whole, at, kind.body[max(0, at-40):at])
			}
		}
	}
}

// R1.6: documents made to exhaust the reader do not.
func TestBombs(t *testing.T) {
	t.Parallel()
	const size = 1 << 20 // which some bounds need
	filled := func(size int, part string) string { return strings.Repeat(part, size/len(part)) }
	fill := func(part string) string { return filled(portion.Of(size, size/8), part) }
	var laughs strings.Builder
	laughs.WriteString(`<!DOCTYPE rss [<!ENTITY lol0 "lol">`)
	for i := range 20 {
		fmt.Fprintf(&laughs, `<!ENTITY lol%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&lol%d;", i), 10))
	}
	laughs.WriteString("]>")
	var namespaces strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&namespaces, ` xmlns:n%d="urn:n%d"`, i, i)
	}
	ok := "<item><title>A</title></item>"
	tests := map[string]struct {
		body string
		want int // entries; -1: an error
	}{
		"a billion laughs":                   {laughs.String() + rssWith("<item><title>&lol20;</title></item>")[21:], 1},
		"an external entity":                 {`<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + rssWith("<item><title>&x;</title></item>")[21:], 1},
		"elements nested without end":        {rssWith(ok + "<item>" + fill("<dc:a>") + "</item>"), 1},
		"elements nested outside of entries": {rssWith(ok + fill("<dc:a>")), 1},
		"entries nested in entries":          {rssWith(ok + fill("<item>")), 1},
		"more elements than any feed has":    {rssWith(ok + "<item>" + filled(size, "<b/>") + "</item>"), 1},
		"more namespaces than any feed has":  {"<rss" + namespaces.String() + "><channel><title>T</title>" + ok + "</channel></rss>", -1},
		"more attributes than any feed has":  {rssWith(ok + "<item><dc:a " + fill("a='b' ") + "/></item>" + "<item><title>B</title></item>"), 2},
		"an extension of many pieces":        {rssWith(ok + "<item><title>B</title><dc:a>" + fill("text<!---->") + "</dc:a></item>"), 2},
		"an extension that is not closed":    {rssWith(ok + "<item><title>B</title><dc:a>" + fill("text<!---->") + "</item>"), 2},
		"an extension that the root declares its own": {`<rss xmlns="http://www.w3.org/2005/Atom" xmlns:a="http://www.w3.org/2005/Atom"><channel xmlns=""><title>T</title>` +
			`<item><title>A</title><a:a>` + fill("text<!---->") + `</a:a></item></channel></rss>`, 1},
		"markup without end":          {fill("<"), -1},
		"comments without end":        {rssWith(ok + fill("<!--")), 1},
		"references without end":      {rssWith("<item><title>" + fill("&#") + "</title></item>"), 1},
		"lists in lists in JSON":      {jsonWith(`{"id":"1"},{"a":` + fill("[") + "}"), 1},
		"objects in objects in JSON":  {fill(`{"a":`), -1},
		"a namespace of spaces alone": {`<rss xmlns="` + fill(" ") + `"><channel><title>T</title>` + fill("<a/>") + ok + "</channel></rss>", -1},
		"a prefix without end":        {"<rss xmlns:" + fill("x") + `="x"><channel><title>T</title>` + fill("<a/>") + ok + "</channel></rss>", -1},
		"a name without end":          {"<" + fill("x") + ":rss><channel><title>T</title>" + fill(ok) + "</channel></" + fill("x") + ":rss>", -1},
		"end tags after such a name":  {rssWith(ok + "</x><Y" + fill("Y") + ">" + fill("</a>")), 1},
		"a base without end":          {`<feed xml:base="http://a.example/` + filled(size, "x") + `"><title>T</title>` + filled(size, "<entry><id>1</id><link href='a'/></entry>") + "</feed>", -1},
		"HTML nested without end":     {atomWith("<entry><id>1</id><content type='html' xml:base='http://a.example/'>" + fill("&lt;div&gt;") + "</content></entry>"), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := -1
			document, err := Parse([]byte(test.body), "", base)
			if err == nil {
				got = len(document.Entries)
			}
			if got != test.want {
				t.Errorf("%d entries, error %v, want %d", got, err, test.want)
			}
			if name == "a billion laughs" && len(document.Entries[0].Title) > 20 {
				t.Errorf("the entity was expanded to %d bytes", len(document.Entries[0].Title))
			}
			if name == "an external entity" && document.Entries[0].Title != "&x;" {
				t.Errorf("the entity was expanded to %q", document.Entries[0].Title)
			}
		})
	}
}

// An extension of many pieces does not reach the parser, which takes a time for it that grows with
// the square of its size.
func TestRepairLeavesOutLargeExtensions(t *testing.T) {
	t.Parallel()
	inner := "<item><title>A</title><dc:a>" + strings.Repeat("text<b/>", 1000) + "</dc:a><dc:b>kept</dc:b></item>"
	for name, body := range map[string]string{
		"in a namespace of its own":    rssWith(inner),
		"in the namespace of the root": `<dc:rss xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>` + inner + `</channel></dc:rss>`,
	} {
		repaired, _, damage := feedxml.Repair([]byte(body))
		if damage != nil || bytes.Contains(repaired, []byte("dc:a")) || !bytes.Contains(repaired, []byte("<dc:b>kept</dc:b>")) {
			t.Errorf("%s: repaired %.300s, damage %v", name, repaired, damage)
		}
	}
}

// R1.6: more dates than the entries of a feed can have do not reach the parser, which tries a hundred forms of each.
func TestRepairLeavesOutDatesWithoutEnd(t *testing.T) {
	t.Parallel()
	const most = 3 * feedxml.MaxEntries
	body := rssWith("<item><title>A</title>" + strings.Repeat("<pubDate>1</pubDate>", portion.Of(2*most, most+100)) + "</item>")
	repaired, _, damage := feedxml.Repair([]byte(body))
	if got := bytes.Count(repaired, []byte("<pubDate>")); damage != nil || got != most {
		t.Errorf("%d dates are left, want %d, damage %v", got, most, damage)
	}
}

// R1.6: passes over a large document are few, however many errors it has near its end; what stands before the first that is
// left is used. A small one is repaired all the same.
func TestALargeDocumentIsRepairedInFewPasses(t *testing.T) {
	t.Parallel()
	const broken = "<item><title>x < y</title></item>"
	sizes := map[int][]string{1 << 10: {"A", "Z"}, 9 << 20: {"A"}}
	if portion.Of(1, 0) == 0 {
		delete(sizes, 9<<20) // how often such a one is read is what feedxml's TestALargeDocumentIsWorthFewRepairs shows
	}
	for size, want := range sizes {
		large := "<item><title>A</title><description>" + strings.Repeat("a text ", size/7) + "</description></item>"
		document, err := Parse([]byte(rssWith(large+strings.Repeat(broken, 5)+"<item><title>Z</title></item>")), "application/rss+xml", base)
		if err != nil {
			t.Fatal(err)
		}
		if got := titles(document); !slices.Equal(got, want) || document.Warning() == "" {
			t.Errorf("of %d bytes %q were read (%s), want %q", size, got, document.Warning(), want)
		}
	}
}
