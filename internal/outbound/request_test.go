// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound/parcel"
)

// R1.3
func TestGetSendsWhatMakesAPoliteRequest(t *testing.T) {
	t.Parallel()
	var got http.Header
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.Header().Set("ETag", `"2"`)
		_, _ = io.WriteString(w, "hello")
	})
	response, err := localClient(t).Get(t.Context(), Request{
		URL: server.URL + "/feed?a=b#part", Accept: "text/html", ETag: `"1"`, LastModified: "Mon, 02 Jan 2006 15:04:05 GMT",
		Header: http.Header{
			"x-api-key": {"k"}, "Accept-Encoding": {"identity"}, "User-Agent": {"other"}, "Connection": {"close"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Accept": {"text/html"}, "Accept-Encoding": {"gzip"}, "If-None-Match": {`"1"`},
		"If-Modified-Since": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "User-Agent": {"feed-operator/test (+https://example.org)"},
		"X-Api-Key": {"k"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request header (-want +got):\n%s", diff)
	}
	if response.Status != 200 || string(response.Body) != "hello" || response.Header.Get("ETag") != `"2"` ||
		response.URL != server.URL+"/feed?a=b" || response.MovedTo != "" {
		t.Errorf("got response %+v", response)
	}
}

// R1.3
func TestNotModifiedIsASuccess(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, ETag: `"1"`})
	if err != nil || response.Status != http.StatusNotModified || !response.Unchanged || response.Body != nil {
		t.Errorf("got %+v, %v", response, err)
	}
}

// R1.3, R1.7: some servers send a document again though it is as it was, and say so. It is not read, however
// long it is; one that is another is.
func TestADocumentThatTheCallerHasIsNotReadAgain(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(http.StatusOK)
		if r.Header.Get("If-None-Match") != "" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done() // there is no end to it
			return
		}
		_, _ = w.Write([]byte("news"))
	})
	response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, ETag: `"1"`})
	if err != nil || !response.Unchanged || response.Body != nil {
		t.Errorf("the same: %+v, %v", response, err)
	}
	response, err = localClient(t).Get(t.Context(), Request{URL: server.URL})
	if err != nil || response.Unchanged || string(response.Body) != "news" {
		t.Errorf("the first: %+v, %v", response, err)
	}
}

// R1.3, R1.6, R1.7: some servers know no validators, and send again what the caller has, compressed or not. It is recognized, and holds no memory
// afterwards.
func TestABodyThatIsKnownIsUnchanged(t *testing.T) {
	t.Parallel()
	client, memory := countedClient(t)
	known := strings.Repeat("news ", 10_000)
	for name, encoding := range map[string]string{"as it is": "", "compressed": "gzip"} {
		for sent, unchanged := range map[string]bool{known: true, known + "!": false} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, len(sent)), func(t *testing.T) {
				t.Parallel()
				server := serve(t, func(w http.ResponseWriter, r *http.Request) {
					wire := []byte(sent)
					if encoding != "" {
						wire = compressed(t, encoding, strings.NewReader(sent))
						w.Header().Set("Content-Encoding", encoding)
					}
					if r.URL.Path == "/at-once" {
						w.Header().Set("Content-Length", strconv.Itoa(len(wire)))
					}
					_, _ = w.Write(wire)
				})
				for _, path := range []string{"/at-once", "/in-chunks"} {
					room, received := memory.Document("a"), false
					request := Request{URL: server.URL + path, Known: parcel.Sum([]byte(known)), Room: room, Received: func() { received = true }}
					err := client.Read(t.Context(), request, func(response *Response) error {
						want := sent
						if unchanged {
							want = ""
						}
						if response.Unchanged != unchanged || string(response.Body) != want {
							t.Errorf("%s: unchanged %t, %d bytes", path, response.Unchanged, len(response.Body))
						}
						if !unchanged && response.Sum() != parcel.Sum([]byte(sent)) {
							t.Errorf("%s: the sum %q", path, response.Sum())
						}
						if held := room.Held(); held != 0 {
							t.Errorf("%s: %d bytes are held", path, held)
						}
						return nil
					})
					if err != nil || !received {
						t.Errorf("%s: %v, received %t", path, err, received)
					}
				}
			})
		}
	}
}

// R1.3, R3.1
func TestAnswersThatAreNoSuccess(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		status     int
		retryAfter string
		want       outcome
		wantWait   time.Duration
		wantQuota  bool
		wantText   string
	}{
		"a server that is overloaded may say for how many seconds": {
			status: 503, retryAfter: "120", want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503},
			wantWait: 2 * time.Minute, wantText: "answered 503 Service Unavailable",
		},
		"too many requests, with the date to wait for": {
			status: 429, retryAfter: "Sun, 01 Mar 2026 13:00:00 GMT",
			want: outcome{v1alpha1.CategoryRateLimit, failure.TypeHTTPStatus, 429}, wantWait: time.Hour,
			wantText: "answered 429 Too Many Requests",
		},
		"a date that is over is no wait": {
			status: 503, retryAfter: "Sun, 01 Mar 2026 11:00:00 GMT",
			want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503}, wantText: "answered 503",
		},
		"a wait without end is bounded": {
			status: 503, retryAfter: "99999999999999999999",
			want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503}, wantWait: failure.MaxWait, wantText: "answered 503",
		},
		"the longest of several waits counts": {
			status: 429, retryAfter: "60;Sun, 01 Mar 2026 13:00:00 GMT;5", want: outcome{v1alpha1.CategoryRateLimit, failure.TypeHTTPStatus, 429},
			wantWait: time.Hour, wantText: "answered 429",
		},
		"a date in a thousand years is bounded": {
			status: 503, retryAfter: "Sun, 01 Mar 3026 13:00:00 GMT", want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503},
			wantWait: failure.MaxWait, wantText: "answered 503",
		},
		"what is no date is no wait": {
			status: 503, retryAfter: "tomorrow", want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503}, wantText: "answered 503",
		},
		"words and negative numbers are no wait": {
			status: 503, retryAfter: "-5", want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503}, wantText: "answered 503",
		},
		"a budget that is spent": {
			status: 402, want: outcome{v1alpha1.CategoryRateLimit, failure.TypeHTTPStatus, 402}, wantQuota: true,
			wantText: "answered 402 Payment Required",
		},
		"credentials that are wrong":      {status: 401, want: outcome{v1alpha1.CategoryAuth, failure.TypeHTTPStatus, 401}, wantText: "answered 401 Unauthorized"},
		"a page that is gone":             {status: 410, want: outcome{v1alpha1.CategoryValidation, failure.TypeHTTPStatus, 410}, wantText: "answered 410 Gone"},
		"a status that nobody registered": {status: 529, want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 529}, wantText: "answered 529."},
		"a choice is not a redirect":      {status: 300, want: outcome{v1alpha1.CategoryValidation, failure.TypeHTTPStatus, 300}, wantText: "answered 300 Multiple Choices"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Date"] = nil
				for value := range strings.SplitSeq(test.retryAfter, ";") {
					w.Header().Add("Retry-After", value)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, "secret words of the server")
			})
			client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}, Now: func() time.Time { return now }})
			response, err := client.Get(t.Context(), Request{URL: server.URL})
			got := failed(t, response, err)
			wantOutcome(t, got, test.want)
			if got.RetryAfter != test.wantWait || got.Quota != test.wantQuota {
				t.Errorf("RetryAfter %s, Quota %t; want %s, %t", got.RetryAfter, got.Quota, test.wantWait, test.wantQuota)
			}
			wantText := "The server " + strings.TrimPrefix(server.URL, "http://") + " " + test.wantText
			if !strings.Contains(got.Error(), wantText) {
				t.Errorf("message %q, want %q in it", got, wantText)
			}
		})
	}
}

// R3.14: a server that names the time until which it is to be left alone means its own clock.
func TestADateIsOfTheServersClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, skew := range []time.Duration{0, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", now.Add(skew).UTC().Format(http.TimeFormat))
				w.Header().Set("Retry-After", now.Add(skew+2*time.Minute).UTC().Format(http.TimeFormat))
				w.WriteHeader(http.StatusTooManyRequests)
			})
			client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}, Now: func() time.Time { return now }})
			response, err := client.Get(t.Context(), Request{URL: server.URL})
			if got := failed(t, response, err).RetryAfter; got != 2*time.Minute {
				t.Errorf("left alone for %s", got)
			}
		})
	}
}

// R1.3: what a server says about how long its answer lasts reaches whoever plans the next poll.
func TestWhatAServerSaysOfTimeIsHandedOn(t *testing.T) {
	t.Parallel()
	said := map[string]string{
		"Cache-Control": "max-age=3600, stale-while-revalidate=60", "Expires": "Sun, 01 Mar 2026 13:00:00 GMT", "Age": "17",
		"Date": "Sun, 01 Mar 2026 12:00:00 GMT", "Retry-After": "120", "ETag": `W/"1"`, "Last-Modified": "Sun, 01 Mar 2026 11:00:00 GMT",
	}
	for _, status := range []int{http.StatusOK, http.StatusNotModified} {
		for _, compressor := range []string{"", "gzip"} {
			if status == http.StatusNotModified && compressor != "" {
				continue
			}
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					http.Redirect(w, r, "/feed", http.StatusFound)
					return
				}
				for name, value := range said {
					w.Header().Set(name, value)
				}
				if compressor == "" {
					w.WriteHeader(status)
					return
				}
				w.Header().Set("Content-Encoding", compressor)
				_, _ = w.Write(compressed(t, compressor, strings.NewReader("<rss/>")))
			})
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, ETag: `W/"1"`})
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range said {
				if got := response.Header.Get(name); got != want {
					t.Errorf("status %d %s: %s is %q, want %q", status, compressor, name, got, want)
				}
			}
		}
	}
}

// R1.9, R5.6: nothing that is configured begins a line of its own in a request.
func TestNoLineIsSmuggledIntoARequest(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int32
	server := serve(t, func(http.ResponseWriter, *http.Request) { arrived.Add(1) })
	header := func(name, value string) Request { return Request{URL: server.URL, Header: http.Header{name: {value}}} }
	for name, test := range map[string]struct {
		request  Request
		wantType string
	}{
		"by a value":                     {header("X-Key", "geheim\r\nHost: evil.example"), typeInvalidHeader},
		"by a value that ends a line":    {header("Authorization", "Bearer geheim\n"), typeInvalidHeader},
		"by a value with half a line":    {header("X-Key", "geheim\r"), typeInvalidHeader},
		"by a value that ends a text":    {header("X-Key", "geheim\x00"), typeInvalidHeader},
		"by a name":                      {header("X-Key: geheim\r\nHost", "evil.example"), typeInvalidHeader},
		"by a name that is none":         {header("X Key", "geheim"), typeInvalidHeader},
		"by an empty name":               {header("", "geheim"), typeInvalidHeader},
		"by a path":                      {Request{URL: server.URL + "/feed HTTP/1.1\r\nX-Key: geheim"}, failure.TypeInvalidURL},
		"by a host":                      {Request{URL: "http://127.0.0.1\r\nX-Key: geheim/"}, failure.TypeInvalidURL},
		"by a query":                     {Request{URL: server.URL + "/?a=b\r\nX-Key: geheim"}, failure.TypeInvalidURL},
		"by a host in percent-encoding":  {Request{URL: "http://127.0.0.1%0d%0aX-Key:%20geheim/"}, failure.TypeInvalidURL},
		"by a scheme that is not spoken": {Request{URL: "http\r\n://127.0.0.1/"}, failure.TypeInvalidURL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := localClient(t).Get(t.Context(), test.request)
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, test.wantType, 0})
			if strings.Contains(got.Message, "geheim") {
				t.Errorf("message %q repeats it", got.Message)
			}
		})
	}
	t.Cleanup(func() {
		if count := arrived.Load(); count != 0 {
			t.Errorf("%d requests arrived", count)
		}
	})
}

// R1.9: what belongs to the connection is the operator's own, however its name is spelled.
func TestHeadersOfTheConnectionAreNotTheCallers(t *testing.T) {
	t.Parallel()
	var got http.Header
	var host string
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { got, host = r.Header, r.Host })
	if _, err := localClient(t).Get(t.Context(), Request{URL: server.URL, Header: http.Header{
		"host": {"evil.example"}, "transfer-encoding": {"chunked"}, "CONTENT-LENGTH": {"17"}, "connection": {"close, X-Key"}, "Te": {"trailers"},
		"upgrade": {"h2c"}, "Expect": {"100-continue"}, "keep-alive": {"17"}, "proxy-connection": {"close"}, "Trailer": {"X"}, "accept-encoding": {"br"},
		"user-agent": {"other"}, "X-Key": {"k"},
	}}); err != nil {
		t.Fatal(err)
	}
	want := http.Header{"Accept-Encoding": {"gzip"}, "User-Agent": {"feed-operator/test (+https://example.org)"}, "X-Key": {"k"}}
	if diff := cmp.Diff(want, got); diff != "" || host != strings.TrimPrefix(server.URL, "http://") {
		t.Errorf("host %s, header (-want +got):\n%s", host, diff)
	}
}

// R1.6
func TestURLsThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ url, wantText string }{
		"nothing at all":         {"", "no scheme"},
		"no scheme":              {"example.org/feed", "no scheme"},
		"a file":                 {"file:///etc/passwd", `scheme "file" is not supported`},
		"no host":                {"https:///feed", "names no host"},
		"opaque":                 {"https:feed", "names no host"},
		"a port out of range":    {"https://example.org:70000/", "port"},
		"a control character":    {"https://example.org/\x00secret", "malformed"},
		"a host that is no name": {"https://ex\u202eample.org/", "not a valid name"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := localClient(t).Get(t.Context(), Request{URL: test.url})
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0})
			if !strings.Contains(got.Error(), test.wantText) {
				t.Errorf("message %q, want %q in it", got, test.wantText)
			}
		})
	}
}
