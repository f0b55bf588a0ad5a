// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestLightenTakesOutTheTextsOfEntries(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long text ", 60)
	escaped, decoded := strings.Repeat("&lt;p&gt;&#8217;&amp;", 60), strings.Repeat("<p>’&", 60)
	const rss, end = "<rss><channel><title>T</title>", "</channel></rss>"
	const atom = `<feed xmlns="http://www.w3.org/2005/Atom">`
	trimmed := strings.TrimSpace(long)
	tests := map[string]struct {
		text string
		want []string
	}{
		"text":                       {rss + "<item><description>" + long + "</description></item>" + end, []string{trimmed}},
		"escaped":                    {rss + "<item><description> " + escaped + "\n</description></item>" + end, []string{decoded}},
		"CDATA with space around":    {rss + "<item><content:encoded>\n<![CDATA[<p>" + long + "]]>\n</content:encoded></item>" + end, []string{"<p>" + long}},
		"RDF":                        {"<rdf:RDF><channel/><item a='b'><description>" + long + "</description></item></rdf:RDF>", []string{trimmed}},
		"Atom":                       {atom + `<entry><summary>` + long + `</summary><content type="html">` + escaped + "</content></entry></feed>", []string{trimmed, decoded}},
		"beside what is not taken":   {rss + "<item><description>" + long + "<b></b></description></item><item><description>" + long + "</description></item>" + end, []string{trimmed}},
		"behind a comment":           {rss + "<item><!-- <description>" + long + "</description> --><description>" + long + "</description></item>" + end, []string{trimmed}},
		"behind an instruction":      {rss + "<item><?x <description>" + long + "</description>?><description>" + long + "</description></item>" + end, []string{trimmed}},
		"behind CDATA":               {rss + "<item><title><![CDATA[<description>" + long + "</description>]]></title><description>" + long + "</description></item>" + end, []string{trimmed}},
		"behind a declaration":       {"<!DOCTYPE rss>" + rss + "<item><description>" + long + "</description></item>" + end, []string{trimmed}},
		"of the channel":             {rss + "<description>" + long + "</description><item><title>A</title></item>" + end, nil},
		"short":                      {rss + "<item><description>short</description></item>" + end, nil},
		"a reference of HTML":        {rss + "<item><description>" + long + "&nbsp;</description></item>" + end, nil},
		"tags":                       {rss + "<item><description>" + long + "<b></b></description></item>" + end, nil},
		"not well-formed":            {rss + "<item><description>" + long + "</description>", nil},
		"links relative to a base":   {atom + `<entry xml:base="http://a.example/"><content type="html">` + long + "</content></entry></feed>", nil},
		"more entries than are used": {rss + "<item><description>" + long + "</description></item>" + strings.Repeat("<item/>", MaxEntries) + end, nil},
		"no feed":                    {"<html><item><description>" + long + "</description></item></html>", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			light := Lighten([]byte(test.text))
			if test.want == nil {
				if light != nil {
					t.Errorf("the document is light, as %s", light.XML)
				}
				return
			}
			if light == nil {
				t.Fatalf("the document is not light")
			}
			var got []string
			var places []*string
			for i := range light.texts {
				word := light.word + strconv.Itoa(i)
				if bytes.Count(light.XML, []byte(word)) != 1 {
					t.Errorf("%s has not %s once", light.XML, word)
				}
				places = append(places, &word)
			}
			texts := func(place *string) [2]*string { return [2]*string{place, new(string)} }
			if PutBack(light, places[1:], texts) == nil || !strings.HasPrefix(*places[0], light.word) {
				t.Error("it is whole without the first text")
			}
			if PutBack(light, append(slices.Clone(places[1:]), places[1:]...), texts) == nil {
				t.Error("it is whole with others twice")
			}
			if again := *places[0]; PutBack(light, append(slices.Clone(places), &again), texts) == nil {
				t.Error("it is whole with the first text in two places")
			}
			if err := PutBack(light, places, texts); err != nil {
				t.Error(err)
			}
			for _, text := range places {
				got = append(got, *text)
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("%q were taken out, want %q", got, test.want)
			}
		})
	}
}
