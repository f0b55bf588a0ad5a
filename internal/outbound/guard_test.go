// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// R1.7
func TestGuardedAddresses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		address string
		allowed []string
		want    bool
	}{
		"a public address":                   {address: "93.184.215.14:443", want: true},
		"a public address on any port":       {address: "93.184.215.14:8081", want: true},
		"a public IPv6 address":              {address: "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", want: true},
		"private 10/8":                       {address: "10.1.2.3:80"},
		"private 172.16/12":                  {address: "172.31.255.255:80"},
		"private 192.168/16":                 {address: "192.168.1.1:80"},
		"loopback":                           {address: "127.0.0.1:80"},
		"all of loopback":                    {address: "127.255.255.254:80"},
		"this host":                          {address: "0.0.0.0:80"},
		"link-local, the metadata of clouds": {address: "169.254.169.254:80"},
		"the metadata of Oracle's cloud":     {address: "192.0.0.192:80"},
		"the metadata of Alibaba's cloud":    {address: "100.100.100.200:80"},
		"the wire server of Azure":           {address: "168.63.129.16:80"},
		"carrier-grade NAT":                  {address: "100.64.0.1:80"},
		"benchmarks":                         {address: "198.18.0.1:80"},
		"multicast":                          {address: "224.0.0.1:80"},
		"broadcast":                          {address: "255.255.255.255:80"},
		"IPv6 loopback":                      {address: "[::1]:80"},
		"IPv6 this host":                     {address: "[::]:80"},
		"IPv6 unique local":                  {address: "[fd00:ec2::254]:80"},
		"IPv6 link-local":                    {address: "[fe80::1]:80"},
		"IPv6 link-local with a zone":        {address: "[fe80::1%eth0]:80"},
		"IPv6 site-local":                    {address: "[fec0::1]:80"},
		"IPv6 multicast":                     {address: "[ff02::1]:80"},
		"IPv6 documentation":                 {address: "[2001:db8::1]:80"},
		"IPv4 mapped into IPv6":              {address: "[::ffff:169.254.169.254]:80"},
		"IPv4 compatible IPv6":               {address: "[::7f00:1]:80"},
		"NAT64":                              {address: "[64:ff9b::a9fe:a9fe]:80"},
		"NAT64 of a local network":           {address: "[64:ff9b:1::a9fe:a9fe]:80"},
		"6to4":                               {address: "[2002:7f00:1::1]:80"},
		"Teredo":                             {address: "[2001:0:7f00:1::1]:80"},
		"no address":                         {address: "localhost:80"},
		"an IPv4 network that is allowed":    {address: "10.1.2.3:80", allowed: []string{"fd00::/8", "10.1.0.0/16"}, want: true},
		"beside a network that is allowed":   {address: "10.2.2.3:80", allowed: []string{"10.1.0.0/16"}},
		"an IPv6 network that is allowed":    {address: "[fd00::1]:80", allowed: []string{"10.1.0.0/16", "fd00::/8"}, want: true},
		"all of IPv4 says nothing of IPv6":   {address: "[::1]:80", allowed: []string{"0.0.0.0/0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var allowed []netip.Prefix
			for _, cidr := range test.allowed {
				allowed = append(allowed, netip.MustParsePrefix(cidr))
			}
			network := "tcp4"
			if strings.HasPrefix(test.address, "[") {
				network = "tcp6"
			}
			err := newGuard(allowed).control(network, test.address, nil)
			if (err == nil) != test.want {
				t.Errorf("got %v, want allowed %t", err, test.want)
			}
		})
	}
	if newGuard(nil).control("unix", "/run/docker.sock", nil) == nil {
		t.Error("a socket of the host is not refused")
	}
}

// R1.7
func TestRefusedAddressesByURL(t *testing.T) {
	t.Parallel()
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for name, host := range map[string]string{
		"an address":            "127.0.0.1",
		"a name that resolves":  "localhost",
		"IPv6":                  "[::1]",
		"IPv4 mapped into IPv6": "[::ffff:127.0.0.1]",
		"the empty address":     "0.0.0.0",
		"metadata":              "169.254.169.254",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := newTestClient(t, Config{}).Get(t.Context(), Request{URL: "http://" + host + ":" + port})
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0})
			if !strings.Contains(got.Error(), "start the operator with --allow-cidr=") {
				t.Errorf("message %q does not say what to do", got)
			}
		})
	}
}

// R1.7
func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}})
	response, err := client.Get(t.Context(), Request{URL: "http://10.255.255.1/"})
	wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0})
}
