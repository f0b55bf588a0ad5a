// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/portion"
)

// wholeFeeds has a document of each vocabulary, with most of what stands next to entries and in them.
func wholeFeeds() map[string]string {
	const itunes = ` xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:dc="http://purl.org/dc/elements/1.1/"` +
		` xmlns:media="http://search.yahoo.com/mrss/" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:atom="http://www.w3.org/2005/Atom"`
	item := func(about, name string) string {
		return fmt.Sprintf(`<item%s><title>%s</title><link>https://site.example/%[2]s</link><guid>g%[2]s</guid><description>About <![CDATA[<p>%[2]s</p>]]></description>`+
			`<dc:creator>Ann</dc:creator><category>c</category><media:group><media:title>M</media:title></media:group>`+
			`<content:encoded>&lt;p>Long %[2]s&lt;/p></content:encoded><pubDate>Fri, 20 Nov 2026 13:05:06 GMT</pubDate></item>`+"\n", about, name)
	}
	entry := func(name string) string {
		return fmt.Sprintf(`<entry><id>g%s</id><title>%[1]s</title><link href="https://site.example/%[1]s"></link><author><name>Ann</name></author>`+
			`<category term="c"></category><summary>About</summary><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Long <br/>%[1]s</p></div></content>`+
			`<published>2026-11-20T13:05:06Z</published></entry>`+"\n", name)
	}
	channel := `<itunes:image href="x"></itunes:image><title>T</title><link>https://site.example/</link><description>D</description><image><url>u</url><title>T</title><link>l</link></image>` +
		`<itunes:category text="a"><itunes:category text="b"></itunes:category></itunes:category><language>en</language><atom:link href="x"></atom:link>` +
		`<ttl>60</ttl><category>c</category><textInput><title>S</title><name>q</name></textInput>`
	return map[string]string{
		"RSS": `<rss version="2.0"` + itunes + `><channel>` + channel + item("", "A") + item("", "B") + item("", "C") + `</channel></rss>`,
		"RDF": `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"` + itunes + `><channel rdf:about="x">` + channel +
			`<items><rdf:Seq><rdf:li rdf:resource="x"></rdf:li></rdf:Seq></items></channel>` + item(` rdf:about="a"`, "A") + item(` rdf:about="b"`, "B") + item(` rdf:about="c"`, "C") + `</rdf:RDF>`,
		"Atom": `<feed xmlns="http://www.w3.org/2005/Atom"` + itunes + `><title>T</title><subtitle>S</subtitle><id>f</id><link href="https://site.example/"></link>` +
			`<author><name>Ann</name></author><itunes:category text="a"></itunes:category><updated>2026-11-20T13:05:06Z</updated>` + entry("A") + entry("B") + entry("C") + `</feed>`,
	}
}

var anyEndTag = regexp.MustCompile(`</([\w:]+)>`)

// R1.6: XML allows for white space at the end of an end tag, and what is written in capitals is clear.
func TestWhiteSpaceInEndTags(t *testing.T) {
	t.Parallel()
	for name, body := range wholeFeeds() {
		want, err := Parse([]byte(body), "", base)
		if err != nil || len(want.Entries) != 3 || want.Warning() != "" {
			t.Fatalf("%s: %+v, %v", name, want, err)
		}
		for _, space := range portion.SomeOf([]string{" \n\t ", "\n", "\r\n", " ", "\t"}, 2) {
			got, err := Parse([]byte(anyEndTag.ReplaceAllString(body, "</${1}"+space+">")), "", base)
			if err != nil {
				t.Errorf("%s with %q: %v", name, space, err)
				continue
			}
			// White space is kept in the markup of contents.
			for i := range got.Entries {
				e := &got.Entries[i]
				e.Content, e.Description = strings.ReplaceAll(e.Content, space+">", ">"), strings.ReplaceAll(e.Description, space+">", ">")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with %q, -want +got:\n%s", name, space, diff)
			}
		}
		for at := 0; at < len(anyEndTag.FindAllStringIndex(body, -1)); at += portion.Of(1, 3) {
			n := -1
			capitals := anyEndTag.ReplaceAllStringFunc(body, func(tag string) string {
				if n++; n == at {
					return strings.ToUpper(tag)
				}
				return tag
			})
			got, err := Parse([]byte(capitals), "", base)
			if err != nil || got.Warning() != "" {
				t.Errorf("%s with end tag %d in capitals: %+v, %v", name, at, got, err)
				continue
			}
			if diff := cmp.Diff(want.Entries, got.Entries); diff != "" && !strings.Contains(diff, "Long") { // the markup of a content stays
				t.Errorf("%s with end tag %d in capitals, -want +got:\n%s", name, at, diff)
			}
		}
	}
}

// R1.6: whichever end tag is missing, all entries are found, and it is said where it is not without
// consequence.
func TestMissingEndTags(t *testing.T) {
	t.Parallel()
	for name, body := range wholeFeeds() {
		for _, at := range anyEndTag.FindAllStringSubmatchIndex(body, -1) {
			tag := body[at[2]:at[3]]
			document, err := Parse([]byte(body[:at[0]]+body[at[1]:]), "", base)
			where := fmt.Sprintf("%s without %s at %d", name, body[at[0]:at[1]], at[0])
			if err != nil {
				t.Errorf("%s: %v", where, err)
				continue
			}
			var guids []string
			for _, entry := range document.Entries {
				guids = append(guids, entry.GUID)
			}
			if want := []string{"gA", "gB", "gC"}; !slices.Equal(guids, want) {
				t.Errorf("%s: entries %q, want %q; warning %q", where, guids, want, document.Warning())
			}
			if document.Link != "https://site.example/" || document.Title == "" {
				t.Errorf("%s: title %q, link %q", where, document.Title, document.Link)
			}
			want := "the end tag of <" + tag + "> is missing"
			inImage := strings.Count(body[:at[0]], "<image>")+strings.Count(body[:at[0]], "<textInput>") >
				strings.Count(body[:at[0]], "</image>")+strings.Count(body[:at[0]], "</textInput>")
			switch {
			case at[1] == len(body):
				want = "unexpected EOF"
			case tag == "channel", tag == "item", tag == "entry": // nothing is lost
				want = ""
			case inImage && tag != "image" && tag != "textInput", tag == "name", tag == "media:title", tag == "div", tag == "p", tag == "rdf:Seq", tag == "rdf:li":
				want = "" // it is in something else, which is taken as a whole
			}
			if !strings.Contains(document.Damage, want) || (document.Damage == "") != (want == "") {
				t.Errorf("%s: damage %q, want %q", where, document.Damage, want)
			}
		}
	}
}

// R1.6: what stands behind an element that is not closed is read for itself.
func TestWhatIsNotClosedSwallowsNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want Entry
	}{
		"in RSS": {rssWith(`<item><title>A<link>https://a.example/1<guid isPermaLink="false">1<dc:creator>Ann<category>c<description><p>D<pubDate>Fri, 20 Nov 2026 13:05:06 GMT</item>`),
			Entry{GUID: "1", URL: "https://a.example/1", Title: "A", Author: "Ann", Categories: []string{"c"}, Content: "<p>D</p>", Published: time.Date(2026, 11, 20, 13, 5, 6, 0, time.UTC)}},
		"in Atom": {atomWith(`<entry><id>1<title>A<link href="https://a.example/1"><category term="c"><summary>S<content>C<updated>2026-11-20T13:05:06Z</entry>`),
			Entry{GUID: "1", URL: "https://a.example/1", Title: "A", Categories: []string{"c"}, Content: "C", Description: "S", Published: time.Date(2026, 11, 20, 13, 5, 6, 0, time.UTC)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := Parse([]byte(test.body), "", base)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Entry{test.want}, document.Entries); diff != "" || document.Damage == "" {
				t.Errorf("damage %q, -want +got:\n%s", document.Damage, diff)
			}
		})
	}
}

// R1.6: entries are found where they do not belong, and what has an end tag stays as it is.
func TestOddNesting(t *testing.T) {
	t.Parallel()
	a, b := "<item><title>A</title></item>", "<item><title>B</title></item>"
	ea, eb := "<entry><title>A</title></entry>", "<entry><title>B</title></entry>"
	const missing = "the end tag of <%s> is missing"
	tests := map[string]struct {
		body       string
		want       []string
		wantDamage string
	}{
		"a category that is not closed":                     {rssWith(`<itunes:category text="x">` + a + b), []string{"A", "B"}, fmt.Sprintf(missing, "itunes:category")},
		"two categories that are not closed":                {rssWith(`<itunes:category text="x"><itunes:category text="y">` + a + b), []string{"A", "B"}, fmt.Sprintf(missing, "itunes:category")},
		"an image that is not closed":                       {rssWith(`<image><url>u</url><title>t</title><link>l</link>` + a + b), []string{"A", "B"}, fmt.Sprintf(missing, "image")},
		"an image between entries that is not closed":       {rssWith(a + `<image><url>u</url>` + b), []string{"A", "B"}, fmt.Sprintf(missing, "image")},
		"a link of Atom that is not closed":                 {rssWith(`<atom:link href="x" rel="self">` + a + b), []string{"A", "B"}, fmt.Sprintf(missing, "atom:link")},
		"a title that another ends":                         {rssWith(`<title>T</subtitle>` + a + b), []string{"A", "B"}, fmt.Sprintf(missing, "title")},
		"a title that is not closed, and a truncated end":   {strings.TrimSuffix(rssWith(`<title>T`+a+b), "</channel></rss>"), []string{"A", "B"}, "unexpected EOF"},
		"a link in Atom that is not closed":                 {atomWith(`<link href="x">` + ea + eb), []string{"A", "B"}, fmt.Sprintf(missing, "link")},
		"links in entries of Atom that are not closed":      {atomWith(`<entry><link href="x"><title>A</title></entry><entry><link href="y"><title>B</title></entry>`), []string{"A", "B"}, fmt.Sprintf(missing, "link")},
		"an enclosure that is not closed":                   {rssWith(`<item><enclosure url="x"><title>A</title></item>` + b), []string{"A", "B"}, fmt.Sprintf(missing, "enclosure")},
		"a title in an entry that is not closed":            {rssWith(`<item><title>A<guid>1</guid></item>` + b), []string{"A", "B"}, fmt.Sprintf(missing, "title")},
		"titles and entries that are not closed":            {rssWith(`<item><title>A<item><title>B<item><title>C</title></item>`), []string{"A", "B", "C"}, fmt.Sprintf(missing, "title")},
		"a title that ends with its entry":                  {rssWith(`<item><title>A</item>` + b), []string{"A", "B"}, fmt.Sprintf(missing, "title")},
		"a prefix on all of Atom":                           {`<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>T<a:link href="x"/><a:entry><a:title>A</a:title></a:entry></a:feed>`, []string{"A"}, fmt.Sprintf(missing, "a:title")},
		"all in capitals":                                   {`<RSS><CHANNEL><TITLE>T<LINK>x</LINK><ITEM><TITLE>A</TITLE></ITEM></CHANNEL></RSS>`, []string{"A"}, fmt.Sprintf(missing, "TITLE")},
		"a channel that is not closed":                      {strings.Replace(rssWith(a+b), "</channel>", "", 1), []string{"A", "B"}, ""},
		"a list around the entries":                         {rssWith(`<items>` + a + b + `</items>`), []string{"A", "B"}, ""},
		"a list around the entries of Atom":                 {atomWith(`<entries>` + ea + eb + `</entries>`), []string{"A", "B"}, ""},
		"entries of something else":                         {rssWith(`<x:list xmlns:x="urn:x" xmlns="urn:x"><item><title>X</title></item></x:list>` + a), []string{"A"}, ""},
		"an attribute with a bracket in it":                 {rssWith(`<item><title>A</title><enclosure url="a>b/"/></item>` + b), []string{"A", "B"}, ""},
		"an end tag with space in an entry with one to few": {rssWith("<item><title>A</title ><description>x<p></description\n></item >" + b), []string{"A", "B"}, ""},
		"markup in a text that is not closed in it":         {rssWith(`<item><title>A</title><description><link><title>x</description></item>` + b), []string{"A", "B"}, ""},
		"markup of entries in a text":                       {rssWith(`<item><title>A</title><description>So: <item><title>x</title></item></description></item>` + b), []string{"A", "B"}, ""},
		"an end tag without its prefix":                     {rssWith(`<item><title>A</title><dc:creator>Ann</creator></item>` + b), []string{"A", "B"}, ""},
		"a broken entry with a tag of a longer name":        {rssWith(`<item><x:items xmlns:x="urn:x"></x:items><media:title><</items></item>` + b), []string{"B"}, "XML syntax error"},
		"a broken tag, and then one that is not closed":     {rssWith(`<item><title>A < a</title></item><itunes:category>` + b), []string{"B"}, "expected element name"},
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
			if document.Title == "" {
				t.Error("the feed has no title")
			}
		})
	}
}
