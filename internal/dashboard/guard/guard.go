// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard keeps other sites away from a page that a browser reaches on localhost, and what is on the page from doing more than it needs.
//
// It knows requests and headers, and nothing of what is served.
package guard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// policy lets a page load what is its own, and nothing else: whatever a feed gets into it, no script of theirs runs, and nothing is sent anywhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// New sets what every answer carries, and refuses what must not get an answer.
func New(hosts []string, refuse func(http.ResponseWriter, *http.Request, int, string), next http.Handler) http.Handler {
	// Refuses what another site has a browser send, by Sec-Fetch-Site, or else by Origin.
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, http.StatusForbidden, "Another site has sent this request. Nothing was done.")
	}))
	protected := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Frame-Options", "DENY")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if !knownHost(r.Host, hosts) {
			refuse(w, r, http.StatusMisdirectedRequest, "This page is not served under that name. Use localhost or the address, or have the operator "+
				"started with --dashboard-host="+hostName(r.Host)+".")
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// knownHost reports whether a page may be asked for by a host name. A hostile site can have its own name lead to 127.0.0.1 (DNS rebinding), and is then,
// for the browser, of the same origin as the page. It cannot do so with an address or with localhost, which are no names of its own.
func knownHost(host string, allowed []string) bool {
	name := hostName(host)
	if name == "localhost" || slices.Contains(allowed, name) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// hostName is a host without its port, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
