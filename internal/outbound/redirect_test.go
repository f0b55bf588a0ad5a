// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// redirects answers each path with a redirect, or with 200.
func redirects(t *testing.T, byPath map[string]string) *httptest.Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if rule, ok := byPath[r.URL.Path]; ok {
			status, location, _ := strings.Cut(rule, " ")
			code, _ := strconv.Atoi(status)
			w.Header().Set("Location", location)
			w.WriteHeader(code)
		}
	})
}

// R1.4
func TestWhereADocumentHasMoved(t *testing.T) {
	t.Parallel()
	server := redirects(t, map[string]string{
		"/once": "301 /new?a=b", "/twice": "308 /once", "/temporary": "302 /new?a=b", "/mixed": "301 /temporary",
		"/late": "307 /once", "/see": "303 /new?a=b", "/fragment": "301 /new#x",
	})
	tests := map[string]struct{ path, wantURL, wantMoved string }{
		"stays":                                  {"/new", "/new", ""},
		"moved for good":                         {"/once", "/new?a=b", "/new?a=b"},
		"moved for good, twice":                  {"/twice", "/new?a=b", "/new?a=b"},
		"is elsewhere for now":                   {"/temporary", "/new?a=b", ""},
		"is elsewhere by the second redirect":    {"/mixed", "/new?a=b", ""},
		"is elsewhere by the first redirect":     {"/late", "/new?a=b", ""},
		"another document answers":               {"/see", "/new?a=b", ""},
		"a fragment is not part of the document": {"/fragment", "/new", "/new"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := localClient(t).Get(t.Context(), Request{
				URL: strings.Replace(server.URL, "http://", "http://user:pass@", 1) + test.path,
			})
			if err != nil {
				t.Fatal(err)
			}
			want := [2]string{server.URL + test.wantURL, ""}
			if test.wantMoved != "" {
				want[1] = server.URL + test.wantMoved
			}
			if diff := cmp.Diff(want, [2]string{response.URL, response.MovedTo}); diff != "" {
				t.Errorf("URL and MovedTo (-want +got):\n%s", diff)
			}
		})
	}
}

// R1.6, R1.7
func TestRedirectsThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	rules := map[string]string{
		"/self": "302 /self", "/a": "302 /b", "/b": "302 /a", "/nowhere": "302 ", "/file": "302 file:///etc/passwd",
		"/script": "302 javascript:alert(1)", "/bad": "302 http://[broken/?token=hunter2", "/metadata": "302 http://169.254.169.254/latest",
		"/loopback6": "302 http://[::1]/", "/port": "302 http://127.0.0.1:99999/", "/moved": "301 /moved", "/back": "301 /forth",
		"/forth": "308 /back", "/gopher": "301 gopher://127.0.0.1:70/1", "/ftp": "302 ftp://ftp.example.org/feed", "/data": "302 data:text/xml,<rss/>",
		"/mapped": "302 http://[::ffff:169.254.169.254]/", "/mapped2": "302 http://[::ffff:a9fe:a9fe]/", "/anywhere": "302 http://0.0.0.0/",
		"/disguised": "302 http://feeds.example.org@169.254.169.254/latest", "/schemeless": "302 //169.254.169.254/latest",
		"/private": "301 http://10.0.0.1/", "/unique-local": "308 http://[fd00:ec2::254]/",
	}
	for i := range 20 {
		rules["/chain"+strconv.Itoa(i)] = "302 /chain" + strconv.Itoa(i+1)
	}
	server := redirects(t, rules)
	tests := map[string]struct {
		path, wantText string
		wantType       string
		wantStatus     int
	}{
		"to itself":                   {"/self", "in a circle: after one redirect", failure.TypeRedirect, 302},
		"in a circle of two":          {"/a", "in a circle: after 2 redirects", failure.TypeRedirect, 302},
		"more than ten":               {"/chain0", "more than 10 times", failure.TypeRedirect, 302},
		"without a place to go":       {"/nowhere", "does not say where to", failure.TypeRedirect, 302},
		"to a file":                   {"/file", `"file" is not supported`, failure.TypeRedirect, 302},
		"to a script":                 {"/script", `"javascript" is not supported`, failure.TypeRedirect, 302},
		"to what is no URL":           {"/bad", "malformed", failure.TypeRedirect, 302},
		"to a port that cannot be":    {"/port", "port", failure.TypeRedirect, 302},
		"for good, to itself":         {"/moved", "in a circle: after one redirect it leads back", failure.TypeRedirect, 301},
		"for good, in a circle":       {"/back", "in a circle: after 2 redirects it leads back", failure.TypeRedirect, 308},
		"to a gopher":                 {"/gopher", `"gopher" is not supported`, failure.TypeRedirect, 301},
		"to FTP":                      {"/ftp", `"ftp" is not supported`, failure.TypeRedirect, 302},
		"to what it says itself":      {"/data", `"data" is not supported`, failure.TypeRedirect, 302},
		"to metadata, mapped":         {"/mapped", "169.254.169.254", failure.TypeAddressRefused, 0},
		"to metadata, mapped in hex":  {"/mapped2", "a9fe:a9fe", failure.TypeAddressRefused, 0},
		"to any address of this host": {"/anywhere", "0.0.0.0", failure.TypeAddressRefused, 0},
		"to metadata behind a user":   {"/disguised", "The address of 169.254.169.254 is", failure.TypeAddressRefused, 0},
		"to metadata by this scheme":  {"/schemeless", "169.254.169.254", failure.TypeAddressRefused, 0},
		"to a private network":        {"/private", "The address of 10.0.0.1 is", failure.TypeAddressRefused, 0},
		"to a private IPv6 network":   {"/unique-local", "The address of [fd00:ec2::254] is", failure.TypeAddressRefused, 0},
		"to the metadata of a cloud":  {"/metadata", "169.254.169.254", failure.TypeAddressRefused, 0},
		"to the operator's own ports": {"/loopback6", "The address of [::1] is", failure.TypeAddressRefused, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL + test.path})
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, test.wantType, test.wantStatus})
			if !strings.Contains(got.Error(), test.wantText) {
				t.Errorf("message %q, want %q in it", got, test.wantText)
			}
			if strings.Contains(got.Error(), "hunter2") {
				t.Errorf("message %q holds a query string", got)
			}
		})
	}
	t.Run("ten are followed", func(t *testing.T) {
		t.Parallel()
		if _, err := localClient(t).Get(t.Context(), Request{URL: server.URL + "/chain10"}); err != nil {
			t.Error(err)
		}
	})
}

// R1.7: numbers that some resolvers take for addresses lead to no address inside either.
func TestRedirectsToAddressesInOtherSpellings(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]string{
		"decimal": "2852039166", "octal": "0251.0376.0251.0376", "hexadecimal": "0xa9fea9fe", "mixed": "0xa9.254.43518", "short": "169.16689662",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redirects(t, map[string]string{"/": "302 http://" + host + "/latest/meta-data"})
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL + "/"})
			if got := failed(t, response, err); got.Type != failure.TypeAddressRefused && got.Type != failure.TypeDNS {
				t.Errorf("%s: %v", got.Type, got)
			}
		})
	}
}

// seen records which request headers arrived at which path.
type seen struct {
	mu   sync.Mutex
	list []string
}

func (s *seen) add(place string, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Referer"} {
		if r.Header.Get(name) != "" {
			place += " " + name
		}
	}
	s.list = append(s.list, place)
}

// R1.7
func TestCredentialsStayWhereTheyWereSent(t *testing.T) {
	t.Parallel()
	var got seen
	var home, other *httptest.Server
	other = serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.add("other"+r.URL.Path, r)
		http.Redirect(w, r, home.URL+"/back", http.StatusFound)
	})
	home = serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.add("home"+r.URL.Path, r)
		switch r.URL.Path {
		case "/start":
			http.Redirect(w, r, "/next", http.StatusFound)
		case "/next":
			http.Redirect(w, r, strings.Replace(other.URL, "http://", "http://root:root@", 1)+"/", http.StatusFound)
		case "/back":
			http.Redirect(w, r, "/end", http.StatusFound)
		}
	})
	want := []string{
		"home/start Authorization Cookie X-Api-Key", "home/next Authorization Cookie X-Api-Key", "other/", "home/back", "home/end",
	}
	_, err := localClient(t).Get(t.Context(), Request{
		URL:    strings.Replace(home.URL, "http://", "http://user:password@", 1) + "/start",
		Header: http.Header{"Cookie": {"a=b"}, "X-Api-Key": {"k"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.list); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// R1.7
func TestCredentialsDoNotFollowToPlainHTTP(t *testing.T) {
	t.Parallel()
	var got seen
	plain := serve(t, func(_ http.ResponseWriter, r *http.Request) { got.add("plain", r) })
	secure := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) {
		got.add("secure", r)
		http.Redirect(w, r, plain.URL, http.StatusFound)
	}, tls.VersionTLS13)
	client := localClient(t)
	trust(client, secure)
	request := Request{URL: secure.URL, Header: http.Header{"Authorization": {"Bearer t"}}}
	if _, err := client.Get(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"secure Authorization", "plain"}, got.list); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}

	// R4.7
	request.RequireTLS = true
	response, err := client.Get(t.Context(), request)
	wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryValidation, failure.TypeRedirect, 302})
}

// R1.3
func TestValidatorsAreSentToTheDocumentAtTheEnd(t *testing.T) {
	t.Parallel()
	end := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
		}
	})
	start := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, end.URL, http.StatusMovedPermanently)
	})
	response, err := localClient(t).Get(t.Context(), Request{URL: start.URL, ETag: `"1"`})
	if err != nil || response.Status != http.StatusNotModified || response.MovedTo != end.URL {
		t.Errorf("got %+v, %v", response, err)
	}
}
