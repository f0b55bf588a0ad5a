// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// R5.5, R5.6: within an attempt each request is a span, redirects and failures too, without paths, queries and the words of errors. Who is called does not
// learn of the trace; and what belongs to no attempt is not traced.
func TestRequestsOfAnAttemptAreTraced(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	headers := http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		maps.Copy(headers, r.Header)
		mu.Unlock()
		switch r.URL.Path {
		case "/moved/SECRET":
			http.Redirect(w, r, "/page/SECRET?key=SECRET", http.StatusFound)
		case "/gone/SECRET":
			http.Error(w, "SECRET", http.StatusGone)
		default:
			_, _ = w.Write([]byte("SECRET"))
		}
	}))
	t.Cleanup(server.Close)
	client := New(Config{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, UserAgent: "test"})
	get := func(url string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := client.Get(ctx, Request{URL: url})
			return err
		}
	}
	post := func(secret bool) func(context.Context) error {
		return func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/hook/SECRET", strings.NewReader("SECRET"))
			if err != nil {
				return err
			}
			answer, err := client.Transport(TransportOptions{Secret: secret}).RoundTrip(request)
			if err == nil {
				_ = answer.Body.Close()
			}
			return err
		}
	}
	for name, test := range map[string]struct {
		do    func(context.Context) error
		fails bool
		want  []string
	}{
		"a redirect":        {get(server.URL + "/moved/SECRET"), false, []string{"GET URL 302 ", "GET URL 200 "}},
		"a refusal":         {get(server.URL + "/gone/SECRET"), true, []string{"GET URL 410 410"}},
		"an inside address": {get("http://10.0.0.1/SECRET"), true, []string{"GET http://10.0.0.1/REDACTED  AddressRefused"}},
		"a post":            {post(false), false, []string{"POST URL 200 "}},
		"a secret address":  {post(true), false, []string{"POST http://REDACTED 200 "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exporter := tracetest.NewInMemoryExporter()
			ctx, attempt := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))).Attempt(t.Context(), &v1alpha1.FeedItem{})
			if err := test.do(ctx); (err != nil) != test.fails {
				t.Errorf("error %v", err)
			}
			if err := test.do(t.Context()); (err != nil) != test.fails { // of no attempt
				t.Errorf("error %v", err)
			}
			attempt.End()
			var got []string
			for _, span := range exporter.GetSpans() {
				if strings.Contains(fmt.Sprint(span.Name, span.Attributes, span.Events, span.Status), "SECRET") {
					t.Errorf("it tells the secret: %+v", span)
				}
				said := map[string]string{}
				for _, attribute := range span.Attributes {
					said[string(attribute.Key)] = attribute.Value.String()
				}
				if span.Parent.IsValid() {
					got = append(got, fmt.Sprint(span.Name, " ", strings.Replace(said["url.full"], server.URL+"/REDACTED", "URL", 1), " ",
						said["http.response.status_code"], " ", said["error.type"]))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
	t.Cleanup(func() {
		for _, name := range []string{"Traceparent", "Tracestate", "Baggage"} {
			if headers.Get(name) != "" {
				t.Errorf("%s was sent", name)
			}
		}
	})
}
