// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const (
	atomPath = "/feeds/news/example.blog.atom"
	jsonPath = "/feeds/news/example.blog.json"
)

// get asks a handler as a client at http://feeds.test would.
func get(t testing.TB, handler http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, handler, http.MethodGet, path, header...)
}

func ask(t testing.TB, handler http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	request.Host = "feeds.test"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
			continue
		}
		request.Header.Add(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

func wantStatus(t testing.TB, answer *httptest.ResponseRecorder, want int) {
	t.Helper()
	if answer.Code != want {
		t.Fatalf("status %d, want %d; body: %s", answer.Code, want, answer.Body)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://feeds.example.org/public/")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		method  string
		path    string
		header  []string
		options Options
		broken  error

		wantStatus int
		wantBody   string
		wantNot    string
		wantHeader map[string]string
	}{
		"an Atom feed": {
			path: atomPath, wantStatus: 200, wantBody: "<title>Title 1</title>",
			wantHeader: map[string]string{"Content-Type": "application/atom+xml; charset=utf-8", "Cache-Control": "max-age=60", "X-Content-Type-Options": "nosniff"},
		},
		"a JSON Feed": {
			path: jsonPath, wantStatus: 200, wantBody: `"title":"Title 1"`,
			wantHeader: map[string]string{"Content-Type": "application/feed+json; charset=utf-8", "Cache-Control": "max-age=60"},
		},
		"the URL of the source is not published, its query may be a token": {path: atomPath, wantStatus: 200, wantNot: "s3cr3t"}, // R5.6
		"nor in a JSON Feed":                         {path: jsonPath, wantStatus: 200, wantNot: "private/feed"},
		"links begin with the host that was asked":   {path: atomPath, wantStatus: 200, wantBody: `rel="self" type="application/atom+xml" href="http://feeds.test/feeds/news/example.blog.atom"`},
		"behind a proxy that speaks TLS":             {path: atomPath, header: []string{"X-Forwarded-Proto", "https"}, wantStatus: 200, wantBody: `href="https://feeds.test/feeds/`, wantHeader: map[string]string{"Vary": "X-Forwarded-Proto"}},
		"with a port":                                {path: atomPath, header: []string{"Host", "[::1]:8082"}, wantStatus: 200, wantBody: `href="http://[::1]:8082/feeds/`},
		"a host that is none is not believed":        {path: atomPath, header: []string{"Host", `x"><script>`}, wantStatus: 200, wantBody: `href="/feeds/news/example.blog.atom"`, wantNot: "script"},
		"nor one with a user name":                   {path: atomPath, header: []string{"Host", "user@evil.test"}, wantStatus: 200, wantNot: "evil"},
		"nor one with a path":                        {path: atomPath, header: []string{"Host", "evil.test/x?"}, wantStatus: 200, wantNot: "evil"},
		"a base URL wins over the host":              {path: atomPath, options: Options{BaseURL: base}, header: []string{"Host", "evil.test"}, wantStatus: 200, wantBody: `href="https://feeds.example.org/public/feeds/news/example.blog.atom"`, wantNot: "evil", wantHeader: map[string]string{"Vary": ""}},
		"an unknown source":                          {path: "/feeds/news/other.atom", wantStatus: 404, wantBody: "There is no published feed of a FeedSource news/other.", wantHeader: map[string]string{"Cache-Control": ""}},
		"a source of another namespace":              {path: "/feeds/other/example.blog.json", wantStatus: 404},
		"an unknown format":                          {path: "/feeds/news/example.blog.rss", wantStatus: 404, wantBody: "Feeds are at"},
		"no name at all":                             {path: "/feeds/news/.atom", wantStatus: 404, wantBody: "Feeds are at"},
		"a name that no object can have":             {path: "/feeds/news/Example_Blog.atom", wantStatus: 404, wantBody: "Feeds are at"},
		"a namespace that no object can have":        {path: "/feeds/a.b/example.blog.atom", wantStatus: 404, wantBody: "Feeds are at"},
		"an escaped slash":                           {path: "/feeds/news/..%2F..%2Fsecrets.atom", wantStatus: 404, wantBody: "Feeds are at"},
		"there is no index":                          {path: "/feeds/", wantStatus: 404},
		"nor anything else":                          {path: "/debug/pprof/", wantStatus: 404},
		"writing is not possible":                    {method: http.MethodPost, path: atomPath, wantStatus: 405, wantHeader: map[string]string{"Allow": "GET, HEAD"}},
		"deleting neither":                           {method: http.MethodDelete, path: atomPath, wantStatus: 405},
		"an API server that does not answer":         {path: atomPath, broken: errors.New("dial tcp 10.96.0.1:443: connection refused"), wantStatus: 503, wantBody: "try again later", wantNot: "10.96", wantHeader: map[string]string{"Retry-After": "30", "Cache-Control": "", "ETag": ""}},
		"an API server that refuses the credentials": {path: atomPath, broken: apierrors.NewUnauthorized("bearer abc"), wantStatus: 503, wantNot: "bearer"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := newStore(2)
			objects.broken = c.broken
			answer := ask(t, NewHandler(objects, c.options), cmp.Or(c.method, http.MethodGet), c.path, c.header...)
			wantStatus(t, answer, c.wantStatus)
			if !strings.Contains(answer.Body.String(), c.wantBody) {
				t.Errorf("body lacks %q: %s", c.wantBody, answer.Body)
			}
			if c.wantNot != "" && strings.Contains(answer.Body.String(), c.wantNot) {
				t.Errorf("body has %q: %s", c.wantNot, answer.Body)
			}
			for key, want := range c.wantHeader {
				if got := answer.Header().Get(key); got != want {
					t.Errorf("%s: %q, want %q", key, got, want)
				}
			}
		})
	}
}

// R1.7, R4.6: while the API server is away, readers of a feed make one line of the log in a minute, however often they ask.
func TestReadersDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	var lines []string
	objects := newStore(2)
	objects.broken = errors.New("connection refused")
	handler := NewHandler(objects, Options{Log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})})
	for range 100 {
		wantStatus(t, get(t, handler, atomPath), http.StatusServiceUnavailable)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "connection refused") {
		t.Errorf("%d lines: %s", len(lines), lines)
	}
}

// R1.7, R4.6: a source that is not published is answered for as one that does not exist, at once, whatever
// the client has of it; and nothing of it is read.
func TestASourceThatIsNotPublishedIsAsIfItWereNot(t *testing.T) {
	t.Parallel()
	objects := newStore(3)
	handler := NewHandler(objects, Options{})
	before := ask(t, handler, http.MethodGet, atomPath)
	wantStatus(t, before, http.StatusOK)
	hidden := objects.sources[0]
	for name, spec := range map[string]v1alpha1.FeedSourceSpec{
		"switched off":            {URL: "https://blog.example.org/feed", Publish: new(false)},
		"with a Secret":           {URL: "https://blog.example.org/feed", SecretRef: &v1alpha1.SecretReference{Name: "reader"}},
		"with a token in its URL": {URL: "https://blog.example.org/feed?token=s3cr3t"},
		"with an unreadable URL":  {URL: "https://blog.example.org/%zz"},
	} {
		objects.mu.Lock()
		hidden.Spec, objects.reads, objects.limits = spec, 0, nil
		objects.mu.Unlock()
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, header := range [][]string{nil, {"If-None-Match", before.Header().Get("ETag")}, {"If-None-Match", "*"}, {"If-Modified-Since", before.Header().Get("Last-Modified")}} {
				got := ask(t, handler, method, atomPath, header...)
				unknown := ask(t, handler, method, strings.Replace(atomPath, hidden.Name, "nothing.blog", 1), header...)
				wantStatus(t, got, http.StatusNotFound)
				if said := strings.ReplaceAll(got.Body.String(), hidden.Name, "nothing.blog"); said != unknown.Body.String() {
					t.Errorf("%s: body %q, want %q", name, said, unknown.Body)
				}
				if !reflect.DeepEqual(unknown.Header(), got.Header()) {
					t.Errorf("%s: header %v, want %v", name, got.Header(), unknown.Header())
				}
			}
		}
		if objects.reads != 0 || objects.limits != nil {
			t.Errorf("%s: %d items were read, and %d lists", name, objects.reads, len(objects.limits))
		}
	}
	for _, spec := range []v1alpha1.FeedSourceSpec{
		{URL: "https://blog.example.org/feed?token=s3cr3t", Publish: new(true)}, {URL: "https://blog.example.org/feed?key=politics"},
	} {
		objects.mu.Lock()
		hidden.Spec = spec
		objects.mu.Unlock()
		wantStatus(t, ask(t, handler, http.MethodGet, atomPath), http.StatusOK)
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(NewHandler(newStore(3), Options{}))
	defer server.Close()
	answers := map[string]*http.Response{}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+atomPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		answers[method] = answer
	}
	for _, key := range []string{"ETag", "Last-Modified", "Content-Length", "Content-Type", "Cache-Control"} {
		if get, head := answers["GET"].Header.Get(key), answers["HEAD"].Header.Get(key); get == "" || get != head {
			t.Errorf("%s: GET %q, HEAD %q", key, get, head)
		}
	}
}

func TestANobodyThatListensGetsNoAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	objects := newStore(1)
	objects.broken = context.Canceled
	recorder := httptest.NewRecorder()
	NewHandler(objects, Options{}).ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, atomPath, nil))
	if recorder.Body.Len() > 0 {
		t.Errorf("an answer for a client that has hung up: %s", recorder.Body)
	}
}

// FuzzRequest asks with any path, host and headers: no answer but the documented ones.
func FuzzRequest(f *testing.F) {
	f.Add(atomPath, "feeds.test", `W/"x", "y"`, "Sun, 01 Mar 2026 12:00:00 GMT")
	f.Add(jsonPath, "[::1]:1", "*", "")
	f.Add("/feeds/%2e%2e/%00.atom", "a b", "", "tomorrow")
	handler := NewHandler(newStore(2), Options{})
	f.Fuzz(func(t *testing.T, path, host, ifNoneMatch, ifModifiedSince string) {
		target, err := url.ParseRequestURI("/" + strings.TrimPrefix(path, "/"))
		if err != nil {
			t.Skip("not a request path")
		}
		request := (&http.Request{Method: http.MethodGet, URL: target, Host: host, Header: http.Header{
			"If-None-Match": {ifNoneMatch}, "If-Modified-Since": {ifModifiedSince},
		}}).WithContext(t.Context())
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		switch recorder.Code {
		case 200, 304, 404, 301, 307: // redirects clean up a path
		default:
			t.Errorf("status %d: %s", recorder.Code, recorder.Body)
		}
	})
}
