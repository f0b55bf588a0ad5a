// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

// R1.10, R3.13: a server whose statuses all look like the post, and are as long as an answer may be, does not fill the memory of the
// operator with them.
func TestWhatIsKeptOfALookIsBounded(t *testing.T) {
	t.Parallel()
	const pages, perPage, length = 40, 4, 32 << 10
	body := string(quote(`<p>Another. <a href="https://example.org/articles/1?a=1&amp;b=2">example.org</a></p><p>` + strings.Repeat("a", length) + `</p>`))
	var asked atomic.Int64
	server := serve(t, odd(func(w http.ResponseWriter, _ *http.Request) {
		page := asked.Add(1)
		if page > pages {
			_, _ = fmt.Fprint(w, `[]`)
			return
		}
		var statuses []string
		for i := range perPage {
			statuses = append(statuses, fmt.Sprintf(`{"id":"p%d-%d","created_at":"2026-11-20T12:00:00.000Z","content":%s}`, page, i, body))
		}
		_, _ = fmt.Fprint(w, "["+strings.Join(statuses, ",")+"]")
	}))
	_, _, err := newClient(t, server).Find(t.Context(), destination.Query{Since: start.Add(-10 * time.Minute), Post: wanted})
	if kept := asked.Load() * perPage * length; !errors.Is(err, destination.ErrTooMany) || kept > 2<<20 {
		t.Errorf("error %v, after %d MiB of statuses were kept", err, kept>>20)
	}
}

// R1.10, R4.4: a look takes the memory of one page at a time, so that an account which posts much can be looked through, however
// many pages that are; and when a call has ended it holds nothing.
func TestALookHoldsOnePageAtATime(t *testing.T) {
	t.Parallel()
	const posts = 2000
	server := newServer(t, mastodontest.Options{})
	for i := range posts {
		server.Publish(mastodontest.Post{Text: fmt.Sprintf("Other news %d.", i), CreatedAt: start.Add(time.Duration(i-posts) * time.Second)})
	}
	way := outbound.New(outbound.Config{
		UserAgent: "feed-operator/test (+https://example.org)", AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true,
	})
	var most int64
	client := newClientOver(t, server.URL, watching(func() { most = max(most, way.Budget().Usage().Documents) }, way.Transport(outbound.TransportOptions{})))
	_, found, err := client.Find(t.Context(), destination.Query{Since: start.Add(-24 * time.Hour), Post: wanted})
	if err != nil || found {
		t.Errorf("found %t, error %v", found, err)
	}
	if held := way.Budget().Usage().Documents; held != 0 || most > 4<<20 {
		t.Errorf("the look has held %d KiB, and holds %d KiB when it has ended", most>>10, held>>10)
	}
}

// R3.3, R4.4: without a link to go by, the source of every status has to be seen. A look asks for no more than a server answers in five minutes; what it has
// not seen then, a person looks at.
func TestHowMuchALookAsksForIsBounded(t *testing.T) {
	t.Parallel()
	bare := wanted
	bare.Link = ""
	for _, posts := range []int{200, 400} {
		server := newServer(t, mastodontest.Options{})
		for i := range posts {
			server.Publish(mastodontest.Post{Text: fmt.Sprintf("Other news %d.", i), CreatedAt: start.Add(time.Duration(i-posts) * time.Second)})
		}
		asked := 0
		way := outbound.New(outbound.Config{
			UserAgent: "feed-operator/test (+https://example.org)", AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true,
		})
		client := newClientOver(t, server.URL, watching(func() { asked++ }, way.Transport(outbound.TransportOptions{})))
		_, found, err := client.Find(t.Context(), destination.Query{Since: start.Add(-24 * time.Hour), Post: bare, TextHash: destination.TextHash(bare)})
		if found || errors.Is(err, destination.ErrTooMany) != (posts > 290) || err == nil != (posts <= 290) || asked < min(posts, 290) || asked > 300 {
			t.Errorf("of %d posts: found %t, error %v, after %d requests", posts, found, err, asked)
		}
	}
}

// R4.4: the time that a request may take is that of each request of a look, and not of all of them together: an account is looked through though that takes
// longer. A server that hangs is not waited for longer than that.
func TestEachRequestOfALookHasItsTime(t *testing.T) {
	t.Parallel()
	const posts, one = 100, 30 * time.Second
	for name, test := range map[string]struct {
		hangs int // at which request
		want  time.Duration
	}{
		"each answers in time":        {0, (posts + 2) * 10 * time.Second},
		"one hangs":                   {50, 49*10*time.Second + one},
		"the first of them, the name": {1, one},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := mastodontest.NewUnstarted(mastodontest.Options{Token: token, TokenMayRead: true, PageSize: 1, Now: func() time.Time { return start }})
				for i := range posts {
					server.Publish(mastodontest.Post{Text: "Other news.", CreatedAt: start.Add(time.Duration(i-posts) * time.Second)})
				}
				requests := 0
				client := newClientOver(t, "https://example.social", roundTripper(func(r *http.Request) (*http.Response, error) {
					takes := 10 * time.Second
					if requests++; requests == test.hangs {
						takes = time.Hour
					}
					select {
					case <-time.After(takes):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
					answer := httptest.NewRecorder()
					server.Handler().ServeHTTP(answer, r)
					return answer.Result(), nil
				}))
				began := time.Now()
				_, found, err := client.Find(t.Context(), destination.Query{Since: start.Add(-time.Hour), Post: wanted, Timeout: one})
				if took := time.Since(began); found || (err != nil) != (test.hangs > 0) || took != test.want {
					t.Errorf("found %t, error %v, after %s and %d requests, want it after %s", found, err, took, requests, test.want)
				}
				if test.hangs > 0 && failed(t, err).Type != failure.TypeTimeout {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// watching has something looked at before each request.
func watching(look func(), next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		look()
		return next.RoundTrip(r)
	})
}
