// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	api "github.com/mattn/go-mastodon"

	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// skews are how far the server's clock is ahead.
var skews = []time.Duration{0, time.Minute, -time.Minute, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}

// margin is how long before its first attempt a post is looked for.
const margin = 10 * time.Minute

// R4.4: whatever the server's clock shows, a post is found that was made now, by who has made it and by who has just started; also
// among others that are older, which are not all looked through.
func TestFindsWhateverTheServersClockShows(t *testing.T) {
	t.Parallel()
	// What answers are like: hooks see them first.
	answers := map[string]func(http.ResponseWriter, *http.Request) bool{
		"the server says what time it is": func(http.ResponseWriter, *http.Request) bool { return false },
		"it does not say": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header()["Date"] = nil
			return false
		},
	}
	for _, skew := range skews {
		for how, hook := range answers {
			t.Run(fmt.Sprintf("%s, %s", skew, how), func(t *testing.T) {
				t.Parallel()
				server := newServer(t, mastodontest.Options{Skew: skew, PageSize: 4, Keys: mastodontest.IgnoresKeys})
				server.OnRequest(hook)
				for i := range 400 {
					server.Publish(mastodontest.Post{Text: fmt.Sprintf("Number %d", i), CreatedAt: start.Add(skew - 72*time.Hour)})
				}
				first := newClient(t, server.URL)
				receipt, err := first.Deliver(t.Context(), "key", wanted)
				if err != nil {
					t.Fatal(err)
				}
				for who, client := range map[string]*Client{"who has made it": first, "who has just started": newClient(t, server.URL)} {
					before := server.Count(listed)
					found, is, err := client.Find(t.Context(), destination.Query{Since: start.Add(-margin), Post: wanted})
					if err != nil || !is || found != receipt {
						t.Errorf("%s: got %+v, %t, %v, want %+v", who, found, is, err, receipt)
					}
					if pages := server.Count(listed) - before; pages > 1 {
						t.Errorf("%s: looked through %d pages", who, pages)
					}
				}
			})
		}
	}
}

// R4.4: what answers may be a proxy with a clock of its own; what posts have shown of the server's counts too.
func TestFindsWhereAProxySaysWhatTimeItIs(t *testing.T) {
	t.Parallel()
	for _, skew := range skews {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{Skew: skew, Keys: mastodontest.IgnoresKeys})
			server.OnRequest(func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Date", start.Format(http.TimeFormat))
				return false
			})
			client := newClient(t, server.URL)
			receipt, err := client.Deliver(t.Context(), "key", wanted)
			if err != nil {
				t.Fatal(err)
			}
			if found, is, err := client.Find(t.Context(), destination.Query{Since: start.Add(-margin), Post: wanted}); err != nil || !is || found != receipt {
				t.Errorf("got %+v, %t, %v, want %+v", found, is, err, receipt)
			}
		})
	}
}

// R4.4: a proxy whose clock is days off says nothing of the server's, also where no post of the server has shown that yet, because the answer to the first one is lost.
func TestFindsTheFirstPostBehindAProxyOfAnotherTime(t *testing.T) {
	t.Parallel()
	for _, skew := range skews {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{Keys: mastodontest.IgnoresKeys})
			server.OnRequest(func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Date", start.Add(skew).Format(http.TimeFormat))
				return false
			})
			server.OnPost(func(p *mastodontest.Pending) bool {
				p.Commit()
				p.Reset()
				return true
			})
			client := newClient(t, server.URL)
			if _, err := client.Deliver(t.Context(), "key", wanted); err == nil {
				t.Fatal("the answer is not lost")
			}
			if _, is, err := client.Find(t.Context(), destination.Query{Since: start.Add(-margin), Post: wanted}); err != nil || !is {
				t.Errorf("found %t, %v", is, err)
			}
		})
	}
}

// R4.4: the server's clock was set after it had made the post.
func TestFindsAfterTheServersClockWasSet(t *testing.T) {
	t.Parallel()
	for _, skew := range skews {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			client := newClient(t, serve(t, odd(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("max_id") != "" {
					_, _ = fmt.Fprint(w, `[]`)
					return
				}
				_, _ = fmt.Fprintf(w, `[%s]`, status(fmt.Sprintf(`,"created_at":%q`, start.Add(skew).Format(time.RFC3339))))
			})))
			client.clocks.answers.Seen(start, start, start.Add(skew))
			if _, is, err := client.Find(t.Context(), destination.Query{Since: start.Add(-margin), Post: wanted}); err != nil || !is {
				t.Errorf("got %t, %v", is, err)
			}
		})
	}
}

// id is one of Mastodon's.
func id(at time.Time) string { return fmt.Sprint(at.UnixMilli() << 16) }

// R4.4: statuses are passed over only where all that tells their time says that they are older, and the search ends where the ids
// say so.
func TestFindGoesByIDs(t *testing.T) {
	t.Parallel()
	old, now := start.Add(-time.Hour), start
	entry := func(id string, at time.Time, rest string) string {
		return fmt.Sprintf(`{"id":%q,"created_at":%q,"content":"x"%s}`, id, at.Format(time.RFC3339), rest)
	}
	post := func(id string, at time.Time) string {
		return entry(id, at, `,"spoiler_text":"news","content":`+string(quote(text)))
	}
	const alike = "103000000000000000" // has the time of a day in 2019
	for name, test := range map[string]struct {
		pages []string
		// wantPages is how many are read, 0 for all and the empty one behind them.
		wantPages int
	}{
		"the id is right, created_at is not":           {[]string{post(id(now), old)}, 0},
		"created_at is right, the id is not":           {[]string{post(id(old), now)}, 0},
		"a page that ends with an old one is the last": {[]string{post(id(now), now) + "," + entry(id(old), old, ""), entry(id(old)[1:], old, "")}, 1},
		"a pinned one comes first":                     {[]string{entry(id(old), old, "") + "," + entry(id(now), now, ""), post(id(now)+"1", now)}, 0},
		"an id of another kind that looks like one":    {[]string{entry("11", now, "") + "," + entry(alike, old, ""), post("9", now)}, 0},
		"no order, and an old one at the end":          {[]string{entry("z1", now, "") + "," + entry("y9", old, ""), post("a3", now)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := 0
			client := newClient(t, serve(t, odd(func(w http.ResponseWriter, r *http.Request) {
				if read++; read > len(test.pages) {
					_, _ = fmt.Fprint(w, `[]`)
					return
				}
				w.Header().Set("Link", fmt.Sprintf(`<https://example.social/x?max_id=%d>; rel="next"`, read))
				_, _ = fmt.Fprintf(w, `[%s]`, test.pages[read-1])
			})))
			if _, is, err := client.Find(t.Context(), destination.Query{Since: start.Add(-margin), Post: wanted}); err != nil || !is {
				t.Errorf("got %t, %v", is, err)
			}
			if test.wantPages != 0 && read != test.wantPages {
				t.Errorf("%d pages were read, want %d", read, test.wantPages)
			}
		})
	}
}

func TestTimesInIDs(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 5e8, time.UTC)
	for name, test := range map[string]struct {
		id   string
		want time.Time
	}{
		"Mastodon":                      {id(at), at},
		"Mastodon, of the same instant": {fmt.Sprint(at.UnixMilli()<<16 + 12345), at},
		"GoToSocial":                    {"01ARZ3NDEKTSV4RRFFQ69G5FAV", time.UnixMilli(1469922850259)}, // the example of the ULID's README
		"Pleroma":                       {"9n2ciuz1wdesFnrGJU", time.Date(2019, 9, 17, 0, 0, 0, 0, time.UTC)},
		"numbers one after the other":   {"11", time.Time{}},
		"Pixelfed":                      {"1012345678901234567", time.Time{}},
		"no number":                     {"-5", time.Time{}},
		"too long a number":             {"99999999999999999999999", time.Time{}},
		"none":                          {"", time.Time{}},
	} {
		got, ok := timeOf(test.id)
		if ok == test.want.IsZero() || ok && got.Sub(test.want).Abs() > 400*24*time.Hour || ok && name == "Mastodon" && !got.Equal(test.want) {
			t.Errorf("%s: got %s, %t, want %s", name, got.UTC(), ok, test.want)
		}
	}
}

// What a server calls the time of a status decides nothing alone.
func TestStatusesThatDisagreeWithTheirIDs(t *testing.T) {
	t.Parallel()
	hourAgo := start.Add(-time.Hour)
	if at, ordered := made(&api.Status{ID: api.ID(id(start)), CreatedAt: hourAgo}); !at.Equal(start) || !ordered {
		t.Errorf("got %s, %t", at, ordered)
	}
	if at, ordered := made(&api.Status{ID: "103000000000000000", CreatedAt: hourAgo}); !at.Equal(hourAgo) || ordered {
		t.Errorf("got %s, %t", at, ordered)
	}
}
