// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package samplefeeds

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mmcdole/gofeed"
	"golang.org/x/text/encoding/japanese"
)

var start = time.Date(2026, time.November, 18, 1, 0, 0, 0, time.UTC)

func newFeeds(t *testing.T) *Feeds {
	t.Helper()
	feeds, err := New(DefaultBase, start)
	if err != nil {
		t.Fatal(err)
	}
	return feeds
}

func get(t *testing.T, feeds *Feeds, address string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	maps.Copy(request.Header, header)
	answer := httptest.NewRecorder()
	feeds.ServeHTTP(answer, request)
	return answer
}

func parse(t *testing.T, feeds *Feeds, address string) *gofeed.Feed {
	t.Helper()
	parsed, err := gofeed.NewParser().Parse(get(t, feeds, address, nil).Body)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return parsed
}

func TestEveryFeedIsReadByAFeedParser(t *testing.T) {
	t.Parallel()
	feeds := newFeeds(t)
	types := map[string]string{}
	for address, entries := range feeds.Initial() {
		parsed := parse(t, feeds, address)
		types[strings.TrimPrefix(address, DefaultBase)] = parsed.FeedType + " " + parsed.FeedVersion
		if len(parsed.Items) != entries {
			t.Errorf("%s: %d entries, want %d", address, len(parsed.Items), entries)
		}
		for _, item := range parsed.Items {
			if item.Title == "" || item.Link == "" || item.Description == "" {
				t.Errorf("%s: an entry without title, link or description: %+v", address, item)
			}
			if item.PublishedParsed == nil || item.PublishedParsed.After(start) {
				t.Errorf("%s: %s was published %v", address, item.Title, item.PublishedParsed)
			}
		}
	}
	want := map[string]string{
		"/press-releases/feed.rdf": "rss 1.0", "/advisories/feed.atom": "atom 1.0", "/status/feed.json": "json https://jsonfeed.org/version/1.1",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
}

func TestPressReleasesCarryJapaneseTime(t *testing.T) {
	t.Parallel()
	text := get(t, newFeeds(t), DefaultBase+"/press-releases/feed.rdf", nil).Body.String()
	if !strings.Contains(text, "<dc:date>2026-11-18T08:00:00+09:00</dc:date>") {
		t.Error("two hours before the start is not 08:00 in Japan")
	}
}

func TestEveryEntryHasAPageWithItsText(t *testing.T) {
	t.Parallel()
	feeds := newFeeds(t)
	for title := feeds.Publish(start); title != ""; title = feeds.Publish(start) {
		t.Log("published", title)
	}
	for _, in := range feeds.feeds {
		for _, e := range in.entries {
			response := get(t, feeds, e.URL, nil)
			for e.Late && response.Code == http.StatusServiceUnavailable {
				response = get(t, feeds, e.URL, nil)
			}
			text := response.Body.Bytes()
			if e.Encoding == "shift_jis" {
				decoded, err := japanese.ShiftJIS.NewDecoder().Bytes(text)
				if err != nil {
					t.Fatal(err)
				}
				text = decoded
			}
			for _, paragraph := range e.Body {
				if !strings.Contains(string(text), strings.ReplaceAll(paragraph, "'", "&#39;")) {
					t.Errorf("%s: the page lacks %q", e.URL, paragraph)
				}
			}
		}
	}
}

func TestTheLatePageAppearsAtTheThirdRequest(t *testing.T) {
	t.Parallel()
	feeds := newFeeds(t)
	var statuses []int
	for range 4 {
		statuses = append(statuses, get(t, feeds, feeds.feeds[0].entries[0].URL, nil).Code)
	}
	if diff := cmp.Diff([]int{503, 503, 200, 200}, statuses); diff != "" {
		t.Error(diff)
	}
}

func TestContentOfTheStatusFeedIsLongEnoughToNeedNoPage(t *testing.T) {
	t.Parallel()
	long := 0
	for _, item := range parse(t, newFeeds(t), DefaultBase+"/status/feed.json").Items {
		if len([]rune(item.Content)) >= 1000 {
			long++
		}
	}
	if long != 3 {
		t.Errorf("%d entries carry their whole text, want 3", long)
	}
}

func TestAnUnchangedFeedAnswersNotModified(t *testing.T) {
	t.Parallel()
	feeds := newFeeds(t)
	for address := range feeds.Initial() {
		first := get(t, feeds, address, nil)
		for name, header := range map[string]http.Header{
			"by ETag": {"If-None-Match": {first.Header().Get("ETag")}},
			"by date": {"If-Modified-Since": {first.Header().Get("Last-Modified")}},
		} {
			if status := get(t, feeds, address, header).Code; status != http.StatusNotModified {
				t.Errorf("%s, %s: %d", address, name, status)
			}
		}
	}
}

func TestNewEntriesAppearInTurnUntilNoneIsLeft(t *testing.T) {
	t.Parallel()
	feeds := newFeeds(t)
	etag := get(t, feeds, DefaultBase+"/press-releases/feed.rdf", nil).Header().Get("ETag")

	added := []string{}
	for title := feeds.Publish(start.Add(time.Minute)); title != ""; title = feeds.Publish(start.Add(time.Minute)) {
		added = append(added, title)
	}
	if len(added) != 6 {
		t.Errorf("%d new entries: %q", len(added), added)
	}
	parsed := parse(t, feeds, DefaultBase+"/press-releases/feed.rdf")
	if len(parsed.Items) != 9 || !parsed.Items[0].PublishedParsed.Equal(start.Add(time.Minute)) {
		t.Errorf("%d press releases, the first one of %v", len(parsed.Items), parsed.Items[0].PublishedParsed)
	}
	changed := get(t, feeds, DefaultBase+"/press-releases/feed.rdf", http.Header{"If-None-Match": {etag}})
	if changed.Code != http.StatusOK {
		t.Errorf("the changed feed answers %d", changed.Code)
	}
}

func TestTheServerTakesAnotherPortWhenItsOwnIsTaken(t *testing.T) {
	t.Parallel()
	first, err := Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if first.Base == second.Base {
		t.Errorf("both at %s", first.Base)
	}
	for address := range second.Initial() {
		if !strings.HasPrefix(address, second.Base+"/") {
			t.Errorf("%s is not at %s", address, second.Base)
		}
		parsed, err := gofeed.NewParser().ParseURLWithContext(address, t.Context())
		if err != nil || !strings.HasPrefix(parsed.Items[0].Link, second.Base+"/") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
