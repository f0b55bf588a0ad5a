// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

// token is easily recognised where it must not be.
const token = "tok-S3CR3T-9f2c1a"

// start is the time on all clocks.
var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newServer starts a server that takes the token, which may read.
func newServer(t *testing.T, options mastodontest.Options) *mastodontest.Server {
	t.Helper()
	options.Token, options.TokenMayRead = token, true
	return newServerOf(t, options)
}

func newServerOf(t *testing.T, options mastodontest.Options) *mastodontest.Server {
	t.Helper()
	if options.Now == nil {
		options.Now = func() time.Time { return start }
	}
	server := mastodontest.New(options)
	t.Cleanup(server.Close)
	return server
}

// serve starts a server that answers as the handler does, and has the time on all clocks.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", start.Format(http.TimeFormat))
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// newClient returns a client that reaches the server as the operator does, with connections that
// are not kept.
func newClient(t *testing.T, server string) *Client {
	t.Helper()
	way := outbound.New(outbound.Config{
		UserAgent:  "feed-operator/test (+https://example.org)",
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		AllowHTTP:  true,
	}).Transport(outbound.TransportOptions{FreshConnections: true})
	return newClientOver(t, server, way)
}

func newClientOver(t *testing.T, server string, way http.RoundTripper) *Client {
	t.Helper()
	client, err := New(Config{Server: server, AccessToken: token, Transport: way, Now: func() time.Time { return start }})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return client
}

// outcome is what a caller decides by.
type outcome struct {
	Category v1alpha1.Category
	Type     string
	Status   int
	Certain  bool
}

// failed returns the failure of a call, and checks what holds for each.
func failed(t *testing.T, err error) *failure.Error {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	//nolint:errorlint // the contract is that the error itself is a *failure.Error
	result, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("error is a %T, want *failure.Error: %v", err, err)
	}
	if result.Message == "" {
		t.Error("the failure has no message")
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) { // R5.6
		if strings.Contains(cause.Error(), token) {
			t.Errorf("the token is in %q", cause)
		}
	}
	record := failure.Record(err, v1alpha1.StageDeliver, "mastodon", start)
	if strings.Contains(record.Message+strings.Join(record.Chain, " "), token) {
		t.Errorf("the token is in the record %+v", record)
	}
	return result
}

func wantOutcome(t *testing.T, err error, want outcome) {
	t.Helper()
	got := failed(t, err)
	if diff := cmp.Diff(want, outcome{got.Category, got.Type, got.Status, destination.Certain(err)}); diff != "" {
		t.Errorf("outcome of %q (-want +got):\n%s", got, diff)
	}
}

func TestServerAddresses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ address, want string }{
		"as it should be":              {"https://example.social", "https://example.social"},
		"with a slash":                 {"https://example.social/", "https://example.social"},
		"a bare host is https":         {"example.social", "https://example.social"},
		"a bare host with a port":      {" example.social:8443/ ", "https://example.social:8443"},
		"below a path":                 {"https://example.org/social/", "https://example.org/social"},
		"plain http, for the way out":  {"http://127.0.0.1:3000", "http://127.0.0.1:3000"},
		"empty":                        {"", ""},
		"another scheme":               {"ftp://example.social", ""},
		"a password":                   {"https://user:" + token + "@example.social", ""},
		"a query":                      {"https://example.social/?a=" + token, ""},
		"no host":                      {"https:///path", ""},
		"malformed":                    {"https://example.social:x:" + token, ""},
		"a control character":          {"https://example.social/\x00" + token, ""},
		"an account and not a server ": {"@feeds@example.social", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := New(Config{Server: test.address, AccessToken: token})
			if test.want == "" {
				wantOutcome(t, err, outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0, true})
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := client.server.String(); got != test.want {
				t.Errorf("server is %s, want %s", got, test.want)
			}
		})
	}
}

func TestTokensThatAreNone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", " \n", "two words " + token, token + "\nX-Header: 1", token + "é"} {
		_, err := New(Config{Server: "https://example.social", AccessToken: bad})
		wantOutcome(t, err, outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 0, true})
	}
	// A line break at the end is what an editor leaves in a Secret.
	if _, err := New(Config{Server: "https://example.social", AccessToken: token + "\n"}); err != nil {
		t.Error(err)
	}
}

func TestPlainHTTPIsRefused(t *testing.T) { // R4.7
	t.Parallel()
	reached := make(chan struct{}, 1)
	server := serve(t, func(http.ResponseWriter, *http.Request) { reached <- struct{}{} })
	way := outbound.New(outbound.Config{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}).
		Transport(outbound.TransportOptions{})
	client := newClientOver(t, server, way)
	_, err := client.Deliver(t.Context(), "key", destination.Post{Text: "text"})
	wantOutcome(t, err, outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0, true})
	_, _, err = client.Find(t.Context(), destination.Query{})
	wantOutcome(t, err, outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0, true})
	_, err = client.Check(t.Context())
	wantOutcome(t, err, outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0, true})
	if len(reached) > 0 {
		t.Error("the server was reached over plain http")
	}
}
