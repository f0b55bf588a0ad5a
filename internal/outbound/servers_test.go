// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

var loopback = netip.MustParsePrefix("127.0.0.0/8")

// serve starts a server on 127.0.0.1. Handlers that wait do so until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func newTestClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	client := New(cfg)
	t.Cleanup(client.transport.CloseIdleConnections)
	return client
}

func localClient(t *testing.T) *Client {
	t.Helper()
	return newTestClient(t, Config{UserAgent: "feed-operator/test (+https://example.org)", AllowCIDRs: []netip.Prefix{loopback}})
}

// outcome is what a caller decides by.
type outcome struct {
	Category v1alpha1.Category
	Type     string
	Status   int
}

// failed returns the failure of a request, and checks what holds for each.
func failed(t *testing.T, response *Response, err error) *failure.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("got an answer with status %d, want a failure", response.Status)
	}
	if response != nil {
		t.Errorf("got a response along with the failure %v", err)
	}
	//nolint:errorlint // the contract is that the error itself is a *failure.Error
	result, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("error is a %T, want *failure.Error: %v", err, err)
	}
	return result
}

func wantOutcome(t *testing.T, got *failure.Error, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want, outcome{got.Category, got.Type, got.Status}); diff != "" {
		t.Errorf("outcome of %q (-want +got):\n%s", got, diff)
	}
}

// undelivered returns the failure of a request that an http.Client made.
func undelivered(t *testing.T, response *http.Response, err error) *failure.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("got an answer with status %d, want a failure", response.StatusCode)
	}
	result, ok := errors.AsType[*failure.Error](err)
	if !ok {
		t.Fatalf("there is no *failure.Error in %v", err)
	}
	if failure.Classify(err) != result {
		t.Errorf("%v is classified anew", err)
	}
	return result
}
