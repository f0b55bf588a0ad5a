// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//nolint:bodyclose // the bodies that a Transport returns are in memory
package outbound

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func TestTheStatusOfAnAnswerIsTheCallersToJudge(t *testing.T) {
	t.Parallel()
	for _, p := range protocols {
		server, client := speak(t, p, func(w http.ResponseWriter, r *http.Request) {
			status, _ := strconv.Atoi(r.URL.Query().Get("status"))
			w.Header().Set("X-Request-Id", "17")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "the reason")
		})
		for _, status := range []int{200, 202, 400, 401, 404, 429, 500, 503, 529} {
			response, err := send(t.Context(), t, client.Transport(TransportOptions{}), http.MethodPost, fmt.Sprintf("%s/?status=%d", server.URL, status), "x")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != status || string(body) != "the reason" || response.Header.Get("X-Request-Id") != "17" {
				t.Errorf("%s: status %d with %q, %v, want %d", p, response.StatusCode, body, err, status)
			}
		}
	}
}

// R1.7: no credentials follow, nor does the request.
func TestATransportNeverFollowsARedirect(t *testing.T) {
	t.Parallel()
	for at, p := range protocols {
		for i, status := range []int{301, 302, 303, 307, 308} {
			if !portion.IsWhole() && i%len(protocols) != at {
				continue // in part, each of them with one of the protocols
			}
			var seen arrivals
			server, client := speak(t, p, func(w http.ResponseWriter, r *http.Request) {
				seen.add(r)
				w.Header().Set("Location", "/elsewhere?token=hunter2")
				w.WriteHeader(status)
			})
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				response, err := send(t.Context(), t, client.Transport(TransportOptions{}), method, server.URL, "x")
				got := undelivered(t, response, err)
				wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeRedirect, status})
				if got.Unsent || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("unsent %t: %v", got.Unsent, err)
				}
			}
			if count := len(seen.all()); count != 2 {
				t.Errorf("%d requests arrived, want one by each method", count)
			}
		}
	}
}

func TestATransportReadsWholeAnswersOnly(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	network := outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0}
	tooLarge := outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0}
	malformed := outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 0}
	encoded := func(encoding string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			_, _ = w.Write(body)
		}
	}
	part := func(status int, broken func(*http.Request)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
			broken(r)
		}
	}
	tests := map[string]struct {
		handler  http.HandlerFunc
		wantSize int
		want     outcome
		wantWait time.Duration
	}{
		"of exactly the limit":             {handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, limit)) }, wantSize: limit},
		"of exactly the limit, compressed": {handler: encoded("gzip", gzipped(t, limit)), wantSize: limit},
		"above the limit":                  {handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, limit+1)) }, want: tooLarge},
		"above the limit, compressed":      {handler: encoded("gzip", gzipped(t, limit+1)), want: tooLarge},
		"without end": {handler: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		}, want: tooLarge},
		"compressed and cut off":                {handler: encoded("gzip", gzipped(t, limit)[:50]), want: network},
		"said to be compressed":                 {handler: encoded("gzip", []byte("this is no gzip stream at all")), want: malformed},
		"in a compression nobody asked for":     {handler: encoded("zstd", []byte("x")), want: malformed},
		"that hangs up":                         {handler: part(200, hangUp), want: network},
		"that is reset":                         {handler: part(200, reset), want: network},
		"that is aborted":                       {handler: part(200, func(*http.Request) { panic(http.ErrAbortHandler) }), want: network},
		"that is aborted before it begins":      {handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: network},
		"that is a refusal and breaks off":      {handler: part(401, hangUp), want: outcome{v1alpha1.CategoryAuth, failure.TypeHTTPStatus, 401}, wantWait: 17 * time.Second},
		"that asks for patience and breaks off": {handler: part(429, hangUp), want: outcome{v1alpha1.CategoryRateLimit, failure.TypeHTTPStatus, 429}, wantWait: 17 * time.Second},
		"that is an error and too large": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(502)
			_, _ = w.Write(make([]byte, limit+1))
		}, want: outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 502}},
		"with headers without end": {handler: func(w http.ResponseWriter, _ *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-Filler-%d", i), strings.Repeat("x", 100))
			}
		}, want: malformed},
	}
	for _, p := range protocols {
		for name, test := range tests {
			t.Run("an answer "+name+" over "+string(p), func(t *testing.T) {
				t.Parallel()
				server, client := speak(t, p, test.handler)
				response, err := send(t.Context(), t, client.Transport(TransportOptions{MaxBytes: limit}), http.MethodPost, server.URL, "x")
				if test.wantSize > 0 {
					if err != nil {
						t.Fatal(err)
					}
					if body, err := io.ReadAll(response.Body); err != nil || len(body) != test.wantSize {
						t.Errorf("a body of %d bytes, %v, want %d", len(body), err, test.wantSize)
					}
					return
				}
				got := undelivered(t, response, err)
				wantOutcome(t, got, test.want)
				if got.Unsent || got.RetryAfter != test.wantWait {
					t.Errorf("unsent %t, wait %s, want %s", got.Unsent, got.RetryAfter, test.wantWait)
				}
			})
		}
	}
}

// R1.7. Not parallel: it looks at what the whole process allocates.
func TestABombDoesNotGrowTheMemoryOfATransport(t *testing.T) {
	bomb := gzipped(t, int64(portion.Of(200, 32))<<20) // larger than what may be allocated
	for _, p := range protocols {
		server, client := speak(t, p, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		response, err := send(t.Context(), t, client.Transport(TransportOptions{MaxBytes: 1 << 20}), http.MethodPost, server.URL, "x")
		runtime.ReadMemStats(&after)
		wantOutcome(t, undelivered(t, response, err), outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0})
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 16<<20 {
			t.Errorf("%s: allocated %d bytes for a body of at most 1 MiB", p, allocated)
		}
	}
}

func TestWhichHeadersLeave(t *testing.T) {
	t.Parallel()
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			got := make(chan http.Header, 1)
			host := make(chan string, 1)
			server, client := speak(t, p, func(w http.ResponseWriter, r *http.Request) {
				got <- r.Header
				host <- r.Host
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("four"))
			if err != nil {
				t.Fatal(err)
			}
			request.Host = "elsewhere.example"
			request.Header = http.Header{
				"authorization": {"Bearer hunter2"}, "Idempotency-Key": {"4711"}, "X-Two": {"a", "b"}, "User-Agent": {"an SDK"},
				"accept-encoding": {"br"}, "Connection": {"close"}, "te": {"trailers"}, "Expect": {"100-continue"}, "Upgrade": {"websocket"},
				"Keep-Alive": {"17"}, "content-length": {"17"}, "Transfer-Encoding": {"chunked"}, "host": {"elsewhere.example"}, "Trailer": {"X-Two"},
			}
			before := request.Header.Clone()
			if _, err := client.Transport(TransportOptions{}).RoundTrip(request); err != nil {
				t.Fatal(err)
			}
			want := http.Header{
				"Authorization": {"Bearer hunter2"}, "Idempotency-Key": {"4711"}, "X-Two": {"a", "b"}, "Accept-Encoding": {"gzip"},
				"User-Agent": {"feed-operator/test (+https://example.org)"}, "Content-Length": {"4"},
			}
			if diff := cmp.Diff(want, <-got); diff != "" {
				t.Errorf("headers at the server (-want +got):\n%s", diff)
			}
			if name := <-host; !strings.HasSuffix(server.URL, "//"+name) {
				t.Errorf("the request asks for the host %s", name)
			}
			if diff := cmp.Diff(before, request.Header); diff != "" {
				t.Errorf("the caller's request was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// R4.7
func TestATransportDemandsTLSThatIsNotOld(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		version  uint16
		wantFail bool
	}{"TLS 1.1": {0x0302, true}, "TLS 1.2": {0x0303, false}} {
		for _, fresh := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var seen arrivals
				server := newTLSServer(t, func(_ http.ResponseWriter, r *http.Request) { seen.add(r) }, test.version)
				client := localClient(t)
				trust(client, server)
				response, err := send(t.Context(), t, client.Transport(TransportOptions{FreshConnections: fresh}), http.MethodPost, server.URL, "x")
				if !test.wantFail {
					if err != nil {
						t.Error(err)
					}
					return
				}
				got := undelivered(t, response, err)
				wantOutcome(t, got, outcome{v1alpha1.CategoryNetwork, failure.TypeTLS, 0})
				if !got.Unsent || len(seen.all()) != 0 {
					t.Errorf("unsent %t, arrived %d", got.Unsent, len(seen.all()))
				}
			})
		}
	}
}

// R5.6. Looks through the whole chain of errors below that of the http.Client, which repeats the
// URL, and through what is shown of that one.
func TestATransportPutsNoSecretIntoErrors(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server sees that the client has gone only then
		switch r.URL.Path {
		case "/redirect":
			w.Header().Set("Location", "http://u:"+secret+"@10.0.0.1/?sig="+secret)
			w.WriteHeader(http.StatusFound)
		case "/hang-up":
			hangUp(r)
		case "/reset":
			reset(r)
		case "/too-large":
			_, _ = w.Write(make([]byte, 2<<10))
		case "/refusal":
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write(make([]byte, 2<<10))
		case "/slow":
			<-r.Context().Done()
		}
	}
	for _, p := range protocols {
		server, client := speak(t, p, handler)
		host := strings.SplitAfter(server.URL, "://")[1]
		withUser := strings.Replace(server.URL, "://", "://user:"+secret+"@", 1)
		for name, url := range map[string]string{
			"a redirect": withUser + "/redirect", "a broken connection": withUser + "/hang-up", "a reset": withUser + "/reset",
			"a large answer": withUser + "/too-large", "a refusal": withUser + "/refusal", "a timeout": withUser + "/slow",
			"nobody there": "https://user:" + secret + "@127.0.0.1:1/", "no such name": "https://user:" + secret + "@nowhere.invalid/",
			"an address": "https://user:" + secret + "@10.0.0.1/", "a scheme": "ftp://user:" + secret + "@" + host + "/",
			"the wrong scheme": strings.NewReplacer("https:", "http:", "http:", "https:").Replace(withUser) + "/",
		} {
			t.Run(name+" over "+string(p), func(t *testing.T) {
				t.Parallel()
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"?sig="+secret+"&q=it's&sig="+secret, strings.NewReader("x"))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("X-Goog-Api-Key", secret)
				request.Header.Set("X-Plain", secret)
				requester := &http.Client{Transport: client.Transport(TransportOptions{MaxBytes: 1 << 10})}
				if name == "a timeout" {
					requester.Timeout = 50 * time.Millisecond
				}
				response, err := requester.Do(request)
				if err == nil {
					t.Fatalf("got an answer with status %d", response.StatusCode)
				}
				record := failure.Record(err, v1alpha1.StageDeliver, "", time.Now())
				if text := fmt.Sprintf("%+v", record); strings.Contains(text, secret) {
					t.Errorf("the record holds a secret: %s", text)
				}
				record = failure.Record(failure.Wrap(v1alpha1.CategoryNetwork, "", err.Error(), fmt.Errorf("the SDK says: %w", err)), v1alpha1.StageDeliver, "", time.Now())
				if text := fmt.Sprintf("%+v", record); strings.Contains(text, secret) {
					t.Errorf("the record of an error around it holds a secret: %s", text)
				}
				if requester.Timeout > 0 {
					return // the error is one of http.Client's own
				}
				for cause := error(undelivered(t, response, err)); cause != nil; cause = errors.Unwrap(cause) {
					if text := fmt.Sprintf("%v %+v", cause, cause); strings.Contains(text, secret) {
						t.Errorf("the chain holds a secret: %s", text)
					}
				}
			})
		}
	}
}

func TestATransportServesManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			server, client := speak(t, p, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
			way := client.Transport(TransportOptions{})
			var group sync.WaitGroup
			for i := range 32 {
				group.Go(func() {
					for j := range 4 {
						text := fmt.Sprintf("request %d of %d", j, i)
						response, err := send(t.Context(), t, way, http.MethodPost, server.URL, text)
						if err != nil {
							t.Error(err)
							return
						}
						if body, err := io.ReadAll(response.Body); err != nil || string(body) != text {
							t.Errorf("answer %q, %v to %q", body, err, text)
						}
					}
				})
			}
			group.Wait()
		})
	}
}
