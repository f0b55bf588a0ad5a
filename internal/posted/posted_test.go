// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posted_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/posted"
)

func init() { portion.Draws(25) }

const feedURL = "https://news.example/feed.xml"

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func entry(guid, link, title string) feed.Entry {
	return feed.Entry{GUID: guid, URL: link, Title: title, Content: "About " + title}
}

func trusting(e feed.Entry) posted.Identity {
	return posted.Of(feedURL, feed.Identify(e), feed.Trust{})
}

// sharing is the identity of an entry of which some values were found to identify nothing.
func sharing(e feed.Entry, attributes ...string) posted.Identity {
	keys := feed.Identify(e)
	shared := map[feed.Key]bool{}
	for _, attribute := range attributes {
		shared[map[string]feed.Key{"guid": keys.GUID, "url": keys.URL, "title": keys.Title}[attribute]] = true
	}
	return posted.Of(feedURL, keys, feed.Trust{Shared: shared})
}

// R4.4, R1.2: an entry is known by what told it apart when it was posted, and does so now.
func TestAnEntryIsKnownByWhatTellsItApart(t *testing.T) {
	t.Parallel()
	first := entry("1", "https://news.example/1", "One")
	for name, test := range map[string]struct {
		before []posted.Identity
		now    posted.Identity
		want   bool
	}{
		"as it was":                   {[]posted.Identity{trusting(first)}, trusting(first), true},
		"with another title":          {[]posted.Identity{trusting(first)}, trusting(entry("1", "https://news.example/1", "Two")), true},
		"with another GUID":           {[]posted.Identity{trusting(first)}, trusting(entry("2", "https://news.example/1", "One")), true},
		"with another link":           {[]posted.Identity{trusting(first)}, trusting(entry("1", "https://news.example/2", "One")), true},
		"by the link in another form": {[]posted.Identity{trusting(first)}, trusting(entry("", "http://NEWS.example/1?utm_source=x", "Two")), true},
		"with the title alone":        {[]posted.Identity{trusting(first)}, trusting(entry("2", "https://news.example/2", "One")), false},
		"of another feed":             {[]posted.Identity{posted.Of("https://news.example/other", feed.Identify(first), feed.Trust{})}, trusting(first), false},
		"of the feed at http":         {[]posted.Identity{posted.Of("http://news.example/feed.xml", feed.Identify(first), feed.Trust{})}, trusting(first), true},
		"with a link that had lost its trust": {
			[]posted.Identity{sharing(first, "url")}, trusting(entry("2", "https://news.example/1", "Two")), false,
		},
		"with a link that has lost its trust since": {
			[]posted.Identity{trusting(first)}, sharing(entry("2", "https://news.example/1", "Two"), "url"), false,
		},
		"with a link that lost its trust between": {
			[]posted.Identity{trusting(first), sharing(entry("2", "https://news.example/1", "Two"), "url")},
			trusting(entry("3", "https://news.example/1", "Three")), false,
		},
		"with the GUID, though its link lost its trust between": {
			[]posted.Identity{trusting(first), sharing(entry("2", "https://news.example/1", "Two"), "url")}, trusting(first), true,
		},
		"with a link with which two were posted": {
			[]posted.Identity{trusting(first), trusting(entry("2", "https://news.example/1", "Two"))},
			trusting(entry("3", "https://news.example/1", "Three")), false,
		},
		"by its title where nothing else is trusted": {
			[]posted.Identity{trusting(first)}, sharing(entry("9", "https://news.example/9", "One"), "guid", "url"), true,
		},
		"by a title that two have": {
			[]posted.Identity{trusting(first), trusting(entry("2", "https://news.example/2", "One"))},
			sharing(entry("9", "https://news.example/9", "One"), "guid", "url"), false,
		},
		"by its title alone":                     {[]posted.Identity{trusting(entry("", "", "One"))}, trusting(entry("", "", "One")), true},
		"by another title":                       {[]posted.Identity{trusting(entry("", "", "One"))}, trusting(entry("", "", "Two")), false},
		"by its content where titles are shared": {[]posted.Identity{sharing(entry("", "", "One"), "title")}, sharing(entry("", "", "One"), "title"), true},
		"by a title that had lost its trust":     {[]posted.Identity{sharing(entry("", "", "One"), "title")}, trusting(entry("", "", "One")), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := posted.New()
			for i, identity := range test.before {
				book.Remember(identity, posted.Post{URL: fmt.Sprint(i), Time: noon}, noon)
			}
			again := posted.New()
			for _, chunk := range book.Unwritten() {
				if err := again.Load(chunk.Number, chunk.Data); err != nil {
					t.Fatal(err)
				}
			}
			for what, book := range map[string]*posted.Book{"as it is": book, "read again": again} {
				if _, found := book.Find(test.now, noon); found != test.want {
					t.Errorf("%s: found %t", what, found)
				}
			}
		})
	}
}

// R4.4: items from before there were identities are known by what they hold, and by their names.
func TestAnOldItemIsKnownByWhatItHolds(t *testing.T) {
	t.Parallel()
	e := entry("1", "https://news.example/1", "One")
	keys := feed.Identify(e)
	of := func(key feed.Key) posted.Identity {
		item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Name: feed.ItemNameOf("news", "uid", key)}}
		item.Spec = v1alpha1.FeedItemSpec{SourceRef: v1alpha1.SourceReference{Name: "news", UID: "uid"}, GUID: e.GUID, URL: e.URL, Title: e.Title}
		return posted.OfItem(item, feedURL)
	}
	for name, test := range map[string]struct{ got, want posted.Identity }{
		"by its GUID":  {of(keys.GUID), trusting(e)},
		"by its link":  {of(keys.URL), sharing(e, "guid")},
		"by its title": {of(keys.Title), sharing(e, "guid", "url")},
	} {
		if test.got != test.want {
			t.Errorf("named %s: %s, want %s", name, test.got, test.want)
		}
	}
	item := &v1alpha1.FeedItem{Spec: v1alpha1.FeedItemSpec{Identity: trusting(e).String(), Title: "Another"}}
	if got := posted.OfItem(item, "https://elsewhere.example"); got != trusting(e) {
		t.Errorf("%s, want what the item says", got)
	}
	item.Spec.Identity = "?"
	if got := posted.OfItem(item, feedURL); got != sharing(entry("", "", "Another")) {
		t.Errorf("%s, want what the item holds", got)
	}
}

// R4.4: at least 20,000 posts are remembered, in chunks that stay small; the oldest go first.
func TestTheLatestTwentyThousandPostsAreRemembered(t *testing.T) {
	portion.Whole(t, "it takes more posts than are remembered")
	t.Parallel()
	const n = 23_000
	book, writes, largest := posted.New(), 0, 0
	var dropped []int64
	identity := func(i int) posted.Identity {
		return trusting(entry(fmt.Sprint(i), fmt.Sprintf("https://news.example/%d", i), fmt.Sprint("Title ", i)))
	}
	for i := range n {
		book.Remember(identity(i), posted.Post{URL: fmt.Sprintf("https://mastodon.example/@press/%018d", i*7919), Time: noon.Add(time.Duration(i) * time.Second)}, noon)
		if i%250 == 249 || i == n-1 {
			dropped = append(dropped, book.Drop(noon)...)
			for _, chunk := range book.Unwritten() {
				largest = max(largest, len(chunk.Data))
				writes++
				book.Wrote(chunk)
			}
		}
	}
	if book.Len() < 20_000 || book.Len() > 21_000 || len(dropped) != 2 || dropped[0] != 1 || dropped[1] != 2 {
		t.Errorf("%d posts, dropped %v", book.Len(), dropped)
	}
	if writes > n/250 || largest > 64_000 {
		t.Errorf("%d writes, the largest of %d bytes", writes, largest)
	}
	for _, i := range []int{n - 20_000, n - 1} {
		if _, found := book.Find(identity(i), noon); !found {
			t.Errorf("post %d is forgotten", i)
		}
	}
	if _, found := book.Find(identity(0), noon); found {
		t.Error("the oldest is still there")
	}
}

// R4.4: a post is remembered for 90 days, and a chunk goes when all of its posts are older.
func TestPostsAreForgottenAfterNinetyDays(t *testing.T) {
	t.Parallel()
	book := posted.New()
	first := trusting(entry("1", "", ""))
	book.Remember(first, posted.Post{URL: "first", Time: noon}, noon)
	for i := range 1000 {
		book.Remember(trusting(entry(fmt.Sprint("more", i), "", "")), posted.Post{Time: noon.Add(time.Hour)}, noon)
	}
	late := noon.Add(posted.KeptFor)
	if _, found := book.Find(first, late.Add(-time.Second)); !found {
		t.Error("it is forgotten early")
	}
	if _, found := book.Find(first, late); found {
		t.Error("it is not forgotten")
	}
	if dropped := book.Drop(late); len(dropped) != 0 {
		t.Errorf("dropped %v with posts that are younger", dropped)
	}
	book.Remember(first, posted.Post{URL: "again", Time: late}, late)
	if post, found := book.Find(first, late); !found || post.URL != "again" {
		t.Errorf("%+v, %t", post, found)
	}
	if dropped := book.Drop(late.Add(2 * time.Hour)); !slices.Equal(dropped, []int64{1}) {
		t.Errorf("dropped %v", dropped)
	}
	if _, found := book.Find(first, late.Add(2*time.Hour)); !found {
		t.Error("what was posted again is forgotten with what was there before")
	}
}

// R4.4: a chunk that a person has deleted is forgotten, but for what was not kept in it yet.
func TestADeletedChunkIsForgotten(t *testing.T) {
	t.Parallel()
	book := posted.New()
	kept, fresh := trusting(entry("1", "", "")), trusting(entry("2", "", ""))
	book.Remember(kept, posted.Post{Time: noon}, noon)
	book.Wrote(book.Unwritten()[0])
	book.Remember(fresh, posted.Post{Time: noon}, noon)
	if number, there := book.ChunkOf(kept, noon); number != 1 || !there {
		t.Errorf("chunk %d, kept %t", number, there)
	}
	if _, there := book.ChunkOf(fresh, noon); there {
		t.Error("what was not written is taken for kept")
	}
	book.Forget(1)
	if _, found := book.Find(kept, noon); found {
		t.Error("it is not forgotten")
	}
	if _, found := book.Find(fresh, noon); !found || len(book.Unwritten()) != 1 {
		t.Error("what was never written is forgotten")
	}
}

// R4.4: a chunk is deleted, and that is found out while it is being written: what was written of it is not there.
func TestAChunkThatIsDeletedWhileItIsWrittenIsWrittenAnew(t *testing.T) {
	t.Parallel()
	nth := func(n int) posted.Identity {
		return trusting(entry(fmt.Sprint(n), fmt.Sprintf("https://news.example/%d", n), fmt.Sprint("Title ", n)))
	}
	book := posted.New()
	for n := range 5 {
		book.Remember(nth(n), posted.Post{Time: noon}, noon)
	}
	book.Wrote(book.Unwritten()[0])
	book.Remember(nth(5), posted.Post{Time: noon}, noon)
	underWay := book.Unwritten()[0]
	book.Forget(underWay.Number) // somebody has looked meanwhile
	book.Wrote(underWay)         // and now the answer is here
	if left := book.Unwritten(); len(left) != 1 || left[0].Posts != 1 {
		t.Errorf("%d chunks are to be written: %+v", len(left), left)
	}
	book.Remember(nth(6), posted.Post{Time: noon}, noon)
	book.Forget(underWay.Number) // as it turns out with the next write
	if left := book.Unwritten(); len(left) != 1 || left[0].Posts != 2 {
		t.Errorf("%d chunks are to be written: %+v", len(left), left)
	}
}

// R4.4: what an operator cannot read is an error, and its number is not used again.
func TestAChunkThatCannotBeReadKeepsItsNumber(t *testing.T) {
	t.Parallel()
	book := posted.New()
	if err := book.Load(7, base64.StdEncoding.EncodeToString([]byte{200})); !errors.Is(err, posted.ErrNewer) {
		t.Errorf("a newer form: %v", err)
	}
	if err := book.Load(3, "?"); err == nil || errors.Is(err, posted.ErrNewer) {
		t.Errorf("a damaged one: %v", err)
	}
	book.Remember(trusting(entry("1", "", "")), posted.Post{Time: noon}, noon)
	if chunk := book.Unwritten()[0]; chunk.Number != 8 {
		t.Errorf("number %d", chunk.Number)
	}
}

// R4.4: whatever is posted by one operator or two at once, in whatever order it is written and read: all of it is known afterwards,
// with its URL, and nothing else.
func TestBooksOfTwoOperatorsBecomeOne(t *testing.T) {
	t.Parallel()
	guids, urls := rapid.StringMatching(`[a-z]{1,3}`), rapid.StringMatching(`[a-z]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		kept := map[int64]string{} // as the API server has it
		books := []*posted.Book{posted.New(), posted.New()}
		want := map[string]string{}
		steps := rapid.IntRange(1, 30).Draw(t, "steps")
		for range steps {
			book := books[rapid.IntRange(0, 1).Draw(t, "operator")]
			guid := guids.Draw(t, "guid")
			url := urls.Draw(t, "url")
			if _, found := book.Find(trusting(entry(guid, "", "")), noon); !found {
				book.Remember(trusting(entry(guid, "", "")), posted.Post{URL: url, Time: noon}, noon)
			}
			want[guid] = url
			if rapid.Bool().Draw(t, "written") {
				write(t, book, kept)
			}
		}
		write(t, books[0], kept)
		write(t, books[1], kept)
		read := posted.New()
		for number, data := range kept {
			if err := read.Load(number, data); err != nil {
				t.Fatal(err)
			}
		}
		for guid := range want {
			if _, found := read.Find(trusting(entry(guid, "", "")), noon); !found {
				t.Fatalf("%q is forgotten", guid)
			}
		}
		if _, found := read.Find(trusting(entry("never posted", "", "")), noon); found {
			t.Fatal("something is known that was never posted")
		}
	})
}

// write writes what a book has, with optimistic locking: what somebody else has written is read first.
func write(t *rapid.T, book *posted.Book, kept map[int64]string) {
	for {
		chunks := book.Unwritten()
		if len(chunks) == 0 {
			return
		}
		for _, chunk := range chunks {
			if data, there := kept[chunk.Number]; there {
				if err := book.Load(chunk.Number, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, chunk := range book.Unwritten() {
			kept[chunk.Number] = chunk.Data
			book.Wrote(chunk)
		}
	}
}

// R4.4: what is written is read as it was, and is known as it was.
func TestAnIdentityIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c]{0,2}`)
		e := feed.Entry{GUID: text.Draw(t, "guid"), URL: text.Draw(t, "url"), Title: text.Draw(t, "title"), Content: text.Draw(t, "content")}
		keys := feed.Identify(e)
		trust := feed.Trust{GUIDsUntrusted: rapid.Bool().Draw(t, "GUIDs"), URLsUntrusted: rapid.Bool().Draw(t, "URLs"), Shared: map[feed.Key]bool{}}
		if rapid.Bool().Draw(t, "title shared") {
			trust.Shared[keys.Title] = true
		}
		identity := posted.Of(feedURL, keys, trust)
		read, err := posted.Parse(identity.String())
		if err != nil || read != identity || identity.IsZero() || len(identity.String()) > 64 {
			t.Fatalf("%s becomes %s: %v", identity, read, err)
		}
		book := posted.New()
		book.Remember(identity, posted.Post{URL: "https://mastodon.example/1", Time: noon}, noon)
		book.Remember(identity, posted.Post{URL: "again", Time: noon}, noon)
		if post, found := book.Find(read, noon); !found || post.URL != "https://mastodon.example/1" || !post.Time.Equal(noon) || book.Len() != 1 {
			t.Fatalf("%+v, %t, %d posts", post, found, book.Len())
		}
	})
}

// R4.4: what is given is read or refused, whatever it is, within bounds; what was read can be written and read again.
func FuzzLoad(f *testing.F) {
	book := posted.New()
	for i := range 3 {
		book.Remember(trusting(entry(fmt.Sprint(i), "https://news.example/"+strings.Repeat("x", i), "One")), posted.Post{URL: "https://m.example/1", Time: noon}, noon)
	}
	f.Add(book.Unwritten()[0].Data)
	f.Add("")
	f.Add("AQ==")
	f.Fuzz(func(t *testing.T, data string) {
		book := posted.New()
		if book.Load(1, data) != nil {
			return
		}
		book.Remember(trusting(entry("new", "", "")), posted.Post{Time: noon}, noon)
		before := book.Len()
		again := posted.New()
		for _, chunk := range book.Unwritten() {
			if err := again.Load(chunk.Number, chunk.Data); err != nil {
				t.Fatal(err)
			}
		}
		if again.Len() > before {
			t.Errorf("%d posts become %d", before, again.Len())
		}
	})
}

// R4.4: what is on an item is read or refused, whatever it is.
func FuzzParse(f *testing.F) {
	f.Add(trusting(entry("1", "https://news.example/1", "One")).String())
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, text string) {
		identity, err := posted.Parse(text)
		if err != nil {
			return
		}
		if again, err := posted.Parse(identity.String()); text != "" && (err != nil || again != identity) {
			t.Errorf("%s becomes %s: %v", identity, again, err)
		}
	})
}
