// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const posting = "POST /api/v1/statuses"

func TestDelivers(t *testing.T) { // R4.1
	t.Parallel()
	server := newServer(t, mastodontest.Options{})
	post := destination.Post{
		Text:           "要約 & summary\n\nhttps://example.org/a?b=1&c=2\n\n#news",
		ContentWarning: "news",
		Link:           "https://example.org/a?b=1&c=2",
		Language:       "ja",
		Visibility:     "unlisted",
	}
	got, err := newClient(t, server.URL).Deliver(t.Context(), "key-1", post)
	if err != nil {
		t.Fatal(err)
	}
	published := server.Posts()
	want := []mastodontest.Post{{
		ID: got.ID, Text: post.Text, SpoilerText: "news", Visibility: "unlisted", Language: "ja", Key: "key-1", CreatedAt: start,
	}}
	if diff := cmp.Diff(want, published); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	if wantURL := server.URL + "/@feeds/" + published[0].ID; got.URL != wantURL {
		t.Errorf("URL is %q, want %q", got.URL, wantURL)
	}
}

// R4.4: the same key marks the same post.
func TestRepeatsWithTheSameKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		keys      mastodontest.Keys
		wantPosts int
		want      *outcome
	}{
		"a server that honours keys makes one post":    {mastodontest.HonoursKeys, 1, nil},
		"a server that ignores keys makes two":         {mastodontest.IgnoresKeys, 2, nil},
		"a server that fails replays leaves it unsaid": {mastodontest.FailsReplay, 1, &outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 500, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{Keys: test.keys})
			client := newClient(t, server.URL)
			first, err := client.Deliver(t.Context(), "key", destination.Post{Text: "text"})
			if err != nil {
				t.Fatal(err)
			}
			second, err := client.Deliver(t.Context(), "key", destination.Post{Text: "text"})
			if test.want != nil {
				wantOutcome(t, err, *test.want)
			} else if err != nil {
				t.Error(err)
			} else if same := first == second; same != (test.wantPosts == 1) {
				t.Errorf("receipts %v and %v", first, second)
			}
			if len(server.Posts()) != test.wantPosts {
				t.Errorf("%d posts, want %d", len(server.Posts()), test.wantPosts)
			}
		})
	}
}

// R4.4: what may have been published nevertheless is not certain, and found afterwards.
func TestPublishedNevertheless(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		hook func(*mastodontest.Pending)
		want outcome
	}{
		"500 after it was published": {
			func(p *mastodontest.Pending) { p.Commit(); p.Answer(500, "application/json", `{"error":"oh"}`) },
			outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 500, false},
		},
		"the connection breaks before, and it is published after": {
			func(p *mastodontest.Pending) { p.Reset(); p.Commit() },
			outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0, false},
		},
		"a page": {
			func(p *mastodontest.Pending) { p.Commit(); p.Answer(200, "text/html", `<p>Starting</p>`) },
			outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false},
		},
		"an empty object": {
			func(p *mastodontest.Pending) { p.Commit(); p.Answer(200, "application/json", `{}`) },
			outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false},
		},
		"an answer that is cut off": {
			func(p *mastodontest.Pending) {
				p.Commit()
				p.Header().Set("Content-Length", "1000")
				p.Answer(200, "application/json", `{"id":"1"`)
			},
			outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0, false},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{})
			server.OnPost(func(p *mastodontest.Pending) bool { test.hook(p); return true })
			client := newClient(t, server.URL)
			post := destination.Post{Text: "Summary https://example.org/a", Link: "https://example.org/a"}
			_, err := client.Deliver(t.Context(), "key", post)
			wantOutcome(t, err, test.want)
			if server.Count(posting) != 1 {
				t.Errorf("%d requests, want 1", server.Count(posting))
			}
			posts, err := server.Await(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			found, ok, err := client.Find(t.Context(), destination.Query{Since: start.Add(-time.Minute), Post: post})
			if err != nil || !ok || found.ID != posts[0].ID {
				t.Errorf("found %+v, %t, %v, want %s", found, ok, err, posts[0].ID)
			}
		})
	}
}

func TestGivesUpWithTheContext(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	server.OnPost(func(p *mastodontest.Pending) bool { cancel(); p.Hang(); return true })
	_, err := newClient(t, server.URL).Deliver(ctx, "key", destination.Post{Text: "text"})
	wantOutcome(t, err, outcome{v1alpha1.CategoryNetwork, "Interrupted", 0, false})
}

func TestCertainWhereNothingLeft(t *testing.T) {
	t.Parallel()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	tests := map[string]struct {
		server string
		want   outcome
	}{
		"nobody listens":                 {"http://" + listener.Addr().String(), outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0, true}},
		"the certificate is not trusted": {tls.URL, outcome{v1alpha1.CategoryNetwork, failure.TypeTLS, 0, true}},
		"the address is not to be used":  {"http://10.0.0.1", outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0, true}},
		"a port that cannot be":          {"http://127.0.0.1:99999", outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newClient(t, test.server).Deliver(t.Context(), "key", destination.Post{Text: "text"})
			wantOutcome(t, err, test.want)
		})
	}
}

// roundTripper is a way out of another kind.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestRequestCannotBeRepeatedBelow(t *testing.T) { // R4.4
	t.Parallel()
	var got *http.Request
	var body string
	client := newClientOver(t, "https://example.social/", roundTripper(func(request *http.Request) (*http.Response, error) {
		got = request
		sent, err := io.ReadAll(request.Body)
		body = string(sent)
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}))
	_, err := client.Deliver(t.Context(), "key-1", destination.Post{Text: "a b", Visibility: "direct"})
	wantOutcome(t, err, outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0, false})
	if got.GetBody != nil {
		t.Error("the body can be had again")
	}
	want := map[string]string{"Idempotency-Key": "key-1", "Authorization": "Bearer " + token, "Content-Type": "application/x-www-form-urlencoded"}
	header := map[string]string{}
	for name := range want {
		header[name] = got.Header.Get(name)
	}
	if diff := cmp.Diff(want, header, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if got.URL.String() != "https://example.social/api/v1/statuses" || body != "status=a+b&visibility=direct" {
		t.Errorf("sent %q to %s", body, got.URL)
	}
}

func TestOneClientServesMany(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{})
	client := newClient(t, server.URL)
	errs := make(chan error)
	for i := range 20 {
		go func() {
			_, err := client.Deliver(t.Context(), string(rune('a'+i)), destination.Post{Text: string(rune('a' + i))})
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, post := range server.Posts() {
		if post.Key != post.Text {
			t.Errorf("the post %q has the key %q", post.Text, post.Key)
		}
	}
}
