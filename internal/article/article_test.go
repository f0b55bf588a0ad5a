// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

func newTestFetcher() *Fetcher {
	return NewFetcher(outbound.New(outbound.Config{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
}

// serve answers each request with a body of this type; without a type the header is not sent.
func serve(t *testing.T, status int, contentType, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/page?token=hunter2"
}

// R2.5
func TestNeedsPage(t *testing.T) {
	t.Parallel()
	const url = "https://example.org/"
	short, long := strings.Repeat("あ", 999), strings.Repeat("あ", 1000)
	tests := map[string]struct {
		request Request
		want    bool
	}{
		"by default, with content that is too short":    {Request{URL: url, FeedText: short}, true},
		"by default, with content that is long enough":  {Request{URL: url, FeedText: long}, false},
		"auto, with content that is too short":          {Request{URL: url, FeedText: short, Source: v1alpha1.ArticleSourceAuto}, true},
		"auto, with content that is long enough":        {Request{URL: url, FeedText: long, Source: v1alpha1.ArticleSourceAuto}, false},
		"auto, where spaces make up the length":         {Request{URL: url, FeedText: short + "  ", Source: v1alpha1.ArticleSourceAuto}, true},
		"auto, without a link":                          {Request{FeedText: short, Source: v1alpha1.ArticleSourceAuto}, false},
		"the page, though the content is long enough":   {Request{URL: url, FeedText: long, Source: v1alpha1.ArticleSourcePage}, true},
		"the page, without a link":                      {Request{FeedText: long, Source: v1alpha1.ArticleSourcePage}, false},
		"the feed, though the content is too short":     {Request{URL: url, FeedText: short, Source: v1alpha1.ArticleSourceFeed}, false},
		"the feed, without any content":                 {Request{URL: url, Source: v1alpha1.ArticleSourceFeed}, false},
		"characters are counted, in whatever encoding":  {Request{URL: url, FeedText: strings.Repeat("a", 999)}, true},
		"by default, with neither a link nor a content": {Request{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.request.NeedsPage(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// R2.5
func TestFetch(t *testing.T) {
	t.Parallel()
	const (
		feedSentence = "The feed itself says what has happened in one full sentence."
		pageSentence = "The page has a sentence of its own, which is long enough to be read."
		page         = "<title>Page title</title><p>" + pageSentence + "</p>"
		html         = "text/html; charset=utf-8"
	)
	placeholder := testdata(t, "placeholder.html")
	tests := map[string]struct {
		// A status of 0 means that the entry has no link.
		status     int
		kind, body string
		request    Request
		want       Article
	}{
		"a page": {
			status: 200, kind: html, body: page, want: Article{Title: "Page title", Text: pageSentence},
		},
		"the feed's title is preferred": {
			status: 200, kind: html, body: page, request: Request{Title: " Feed\n title\u202e "},
			want: Article{Title: "Feed title", Text: pageSentence},
		},
		"a page, not the short content": {
			status: 200, kind: html, body: page, request: Request{FeedText: feedSentence},
			want: Article{Title: "Page title", Text: pageSentence},
		},
		"content without a link, however short": {
			request: Request{FeedText: "So\r\n\r\n\r\nbe  it\x07"}, want: Article{Text: "So\n\nbe it", FromFeed: true},
		},
		"content as the source says": {
			status: 500, request: Request{FeedText: "Short", Title: "T", Source: v1alpha1.ArticleSourceFeed},
			want: Article{Title: "T", Text: "Short", FromFeed: true},
		},
		"a headline, where the source reads the feed only": {
			status: 500, request: Request{Title: " Bridge\nreopens ", FeedText: " ", Source: v1alpha1.ArticleSourceFeed},
			want: Article{Title: "Bridge reopens", Text: "Bridge reopens", FromFeed: true, HeadlineOnly: true},
		},
		"a headline without a link": {
			request: Request{Title: "橋が再開"}, want: Article{Title: "橋が再開", Text: "橋が再開", FromFeed: true, HeadlineOnly: true},
		},
		"a placeholder, but the feed has a sentence": {
			status: 200, kind: html, body: placeholder, request: Request{FeedText: feedSentence},
			want: Article{Text: feedSentence, FromFeed: true},
		},
		"a damaged PDF document, but the feed has a sentence": {
			status: 200, kind: "application/pdf", body: "%PDF-1.7\n", request: Request{FeedText: feedSentence},
			want: Article{Text: feedSentence, FromFeed: true},
		},
		"a plain text": {
			status: 200, kind: "text/plain; charset=iso-8859-1", body: "Un caf\xe9 est une boisson.\r\n\r\n\r\nIl se boit chaud, le matin, au lit.\r\n",
			want: Article{Text: "Un café est une boisson.\n\nIl se boit chaud, le matin, au lit."},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.status != 0 {
				test.request.URL = serve(t, test.status, test.kind, test.body)
			}
			got, err := newTestFetcher().Fetch(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(test.want.Text))
			test.want.Hash = hex.EncodeToString(sum[:])
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("article (-want +got):\n%s", diff)
			}
		})
	}
}

// R2.5
func TestFetchFails(t *testing.T) {
	t.Parallel()
	const feedSentence = "The feed itself says what has happened in one full sentence."
	notReady := failure.Error{Category: v1alpha1.CategoryAPI, Type: TypeNotReady}
	noContent := failure.Error{Category: v1alpha1.CategoryValidation, Type: TypeNoContent}
	tests := map[string]struct {
		status     int
		kind, body string
		request    Request
		want       failure.Error
		wantText   string
	}{
		"a placeholder": {
			status: 200, kind: "text/html", body: testdata(t, "placeholder.html"), want: notReady, wantText: "no readable article text yet",
		},
		"a placeholder, and a feed that says little": {
			status: 200, kind: "text/html", body: testdata(t, "placeholder.html"), request: Request{FeedText: "Read more…"},
			want: notReady, wantText: "no readable article text yet",
		},
		"an empty page": {status: 200, kind: "text/html", want: notReady, wantText: "no readable article text yet"},
		"a page that needs a browser": {
			status: 200, kind: "text/html", body: "<div id=root></div><p>Please enable JavaScript to use this application.</p>",
			want: notReady, wantText: "no readable article text yet",
		},
		"neither link nor content":  {request: Request{Title: " … "}, want: noContent, wantText: "neither a link nor content"},
		"a program's word for none": {request: Request{Title: "(no title) 2"}, want: noContent, wantText: "neither a link nor content"},
		"the feed alone, and it is empty": {
			status: 200, request: Request{FeedText: " \n", Title: "無題", Source: v1alpha1.ArticleSourceFeed}, want: noContent, wantText: "the feed only",
		},
		"a page above the limit": {
			status: 200, kind: "text/html", body: strings.Repeat("<p>x", 1000), request: Request{MaxBytes: 2000, FeedText: feedSentence},
			want: failure.Error{Category: v1alpha1.CategoryValidation, Type: failure.TypeTooLarge}, wantText: "larger than the limit of 2000 bytes",
		},
		"a page that is not there, though the feed has a sentence": {
			status: 404, request: Request{FeedText: feedSentence},
			want: failure.Error{Category: v1alpha1.CategoryValidation, Type: failure.TypeHTTPStatus, Status: 404}, wantText: "answered 404 Not Found",
		},
		"a server in trouble": {
			status: 503, want: failure.Error{Category: v1alpha1.CategoryAPI, Type: failure.TypeHTTPStatus, Status: 503}, wantText: "answered 503",
		},
		"a damaged PDF document": {
			status: 200, kind: "application/pdf", body: "%PDF-1.7\n",
			want: failure.Error{Category: v1alpha1.CategoryValidation, Type: failure.TypeUnsupported}, wantText: "The PDF document at 127.0.0.1",
		},
		"a damaged PDF document that is declared to be a page": {
			status: 200, kind: "text/html", body: "%PDF-1.7\n",
			want: failure.Error{Category: v1alpha1.CategoryValidation, Type: failure.TypeUnsupported}, wantText: "is damaged",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.status != 0 {
				test.request.URL = serve(t, test.status, test.kind, test.body)
			}
			got, err := newTestFetcher().Fetch(t.Context(), test.request)
			var failed *failure.Error
			if !errors.As(err, &failed) {
				t.Fatalf("got %+v, %v; want a *failure.Error", got, err)
			}
			outcome := failure.Error{Category: failed.Category, Type: failed.Type, Status: failed.Status}
			if diff := cmp.Diff(test.want, outcome); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if !strings.Contains(failed.Message, test.wantText) || strings.Contains(failed.Message, "hunter2") {
				t.Errorf("message %q, want %q and no query string in it", failed.Message, test.wantText)
			}
		})
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newTestFetcher().Fetch(ctx, Request{URL: serve(t, 200, "text/html", "")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// R2.4: while the text stays, so does the hash, whatever else changes on the page.
func TestHashFollowsTheTextAlone(t *testing.T) {
	t.Parallel()
	hash := func(body string) string {
		got, err := newTestFetcher().Fetch(t.Context(), Request{URL: serve(t, 200, "text/html", body)})
		if err != nil {
			t.Fatal(err)
		}
		return got.Hash
	}
	const text = "<p>Nothing has changed in this text since it was published first.</p>"
	first := hash("<script>var session = 1</script>" + text)
	if again := hash("<script>var session = 2</script><nav><a href=/>News of today</a></nav>\n\n" + text); again != first {
		t.Error("the hash moved although the text did not")
	}
	if other := hash(strings.Replace(text, "Nothing", "Something", 1)); other == first {
		t.Error("the hash stayed although the text changed")
	}
}
