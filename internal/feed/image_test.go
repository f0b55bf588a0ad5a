// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"fmt"
	"strings"
	"testing"
)

// R1.1, R4.1: the image of an entry, wherever a feed has it.
func TestImages(t *testing.T) {
	t.Parallel()
	const at = "https://news.example/a.png"
	rss := func(elements string) string {
		return `<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>News</title><link>https://news.example/</link><item><title>One</title>` +
			elements + `</item></channel></rss>`
	}
	for name, test := range map[string]struct {
		feed string
		want Image
	}{
		"an enclosure":                  {rss(`<enclosure url="https://news.example/a.png" type="image/png"/>`), Image{URL: at}},
		"an enclosure without a type":   {rss(`<enclosure url="https://news.example/a.png"/>`), Image{URL: at}},
		"a relative one":                {rss(`<enclosure url="/a.png" type="image/png"/>`), Image{URL: at}},
		"one with credentials":          {rss(`<enclosure url="https://me:secret@news.example/a.png" type="image/png"/>`), Image{URL: at}},
		"a sound before it":             {rss(`<enclosure url="https://news.example/a.mp3" type="audio/mpeg"/><enclosure url="https://news.example/a.png" type="image/png"/>`), Image{URL: at}},
		"a sound alone":                 {rss(`<enclosure url="https://news.example/a.mp3" type="audio/mpeg"/>`), Image{}},
		"a drawing that servers refuse": {rss(`<enclosure url="https://news.example/a.svg" type="image/svg+xml"/>`), Image{}},
		"a file":                        {rss(`<enclosure url="file:///etc/passwd" type="image/png"/>`), Image{}},
		"a medium with a text":          {rss(`<media:description>Of the entry</media:description><media:content url="https://news.example/a.png" medium="image"><media:description>A  dog</media:description></media:content>`), Image{at, "A dog"}},
		"a medium of a group":           {rss(`<media:group><media:content url="https://news.example/a.png" type="image/png"/></media:group>`), Image{URL: at}},
		"a medium before an enclosure":  {rss(`<enclosure url="https://news.example/b.png" type="image/png"/><media:content url="https://news.example/a.png" medium="image"/>`), Image{URL: at}},
		"the thumbnail of a video":      {rss(`<media:content url="https://news.example/a.mp4" type="video/mp4"><media:thumbnail url="https://news.example/a.png"/></media:content>`), Image{URL: at}},
		"a long text":                   {rss(`<media:content url="https://news.example/a.png" medium="image"><media:description>` + strings.Repeat("あ", 2000) + `</media:description></media:content>`), Image{at, strings.Repeat("あ", 1500)}},
		"Atom":                          {`<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>One</title><link rel="enclosure" type="image/png" href="https://news.example/a.png"/></entry></feed>`, Image{URL: at}},
		"JSON Feed":                     {`{"version":"https://jsonfeed.org/version/1.1","title":"News","items":[{"id":"1","title":"One","image":"https://news.example/a.png"}]}`, Image{URL: at}},
		"none":                          {rss(`<description>&lt;img src="https://news.example/a.png"&gt;</description>`), Image{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := Parse([]byte(test.feed), "", "https://news.example/feed")
			if err != nil || len(document.Entries) != 1 {
				t.Fatalf("%+v, %v", document, err)
			}
			if got := document.Entries[0].Image; got != test.want {
				t.Errorf("got %s, want %s", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", test.want))
			}
		})
	}
}
