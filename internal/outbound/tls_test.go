// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// R4.7
func TestPlainHTTPWhereTLSIsRequired(t *testing.T) {
	t.Parallel()
	server := serve(t, func(http.ResponseWriter, *http.Request) {})

	response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, RequireTLS: true})
	got := failed(t, response, err)
	wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0})
	if !strings.Contains(got.Error(), "--allow-http") {
		t.Errorf("message %q does not say what to do", got)
	}

	allowed := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}, AllowHTTP: true})
	if _, err := allowed.Get(t.Context(), Request{URL: server.URL, RequireTLS: true}); err != nil {
		t.Errorf("with AllowHTTP: %v", err)
	}
}

// R4.7
func TestTLSMustBeTrustedAndNotOld(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		trusted    bool
		maxVersion uint16
		wantFail   bool
	}{
		"TLS 1.2 with a certificate that is trusted": {trusted: true, maxVersion: tls.VersionTLS12},
		"a certificate that nobody knows":            {maxVersion: tls.VersionTLS13, wantFail: true},
		"TLS 1.1":                                    {trusted: true, maxVersion: tls.VersionTLS11, wantFail: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newTLSServer(t, func(http.ResponseWriter, *http.Request) {}, test.maxVersion)
			client := localClient(t)
			if test.trusted {
				trust(client, server)
			}
			response, err := client.Get(t.Context(), Request{URL: server.URL, RequireTLS: true})
			if !test.wantFail {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryNetwork, failure.TypeTLS, 0})
		})
	}
}

func newTLSServer(t *testing.T, handler http.HandlerFunc, maxVersion uint16) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: maxVersion}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// tlsListener listens on 127.0.0.1 with the certificate of the server, and speaks HTTP/2.
func tlsListener(t *testing.T, server *httptest.Server) net.Listener {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: server.TLS.Certificates, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func trust(client *Client, server *httptest.Server) {
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client.transport.TLSClientConfig.RootCAs = roots
	client.fresh.TLSClientConfig.RootCAs = roots
}
