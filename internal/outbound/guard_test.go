// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// R1.7
func TestGuardedAddresses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		address string
		allowed []string
		denied  []string
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
		"IPv6 loopback that is allowed":      {address: "[::1]:80", allowed: []string{"::1/128"}, want: true},
		"IPv4 allowed as it is mapped":       {address: "10.1.2.3:80", allowed: []string{"::ffff:10.1.0.0/112"}, want: true},

		"metadata in an allowed network":       {address: "169.254.169.254:80", allowed: []string{"169.254.0.0/16", "0.0.0.0/0"}},
		"metadata of AWS by IPv6":              {address: "[fd00:ec2::254]:80", allowed: []string{"fd00::/8"}},
		"metadata of Azure":                    {address: "168.63.129.16:80", allowed: []string{"168.63.128.0/17"}},
		"metadata of Alibaba":                  {address: "100.100.100.200:80", allowed: []string{"100.64.0.0/10"}},
		"metadata of Oracle":                   {address: "192.0.0.192:80", allowed: []string{"192.0.0.0/24"}},
		"metadata of Google by IPv6":           {address: "[fd20:ce::254]:80", allowed: []string{"fd20::/16"}},
		"metadata in a zone":                   {address: "[fe80::a9fe:a9fe%eth0]:80", allowed: []string{"fe80::/10"}},
		"metadata that are allowed themself":   {address: "169.254.169.254:80", allowed: []string{"169.254.169.254/32"}, want: true},
		"IPv6 metadata allowed themself":       {address: "[fd00:ec2::254]:80", allowed: []string{"fd00:ec2::254/128"}, want: true},
		"a neighbour of metadata":              {address: "169.254.169.253:80", allowed: []string{"169.254.0.0/16"}, want: true},
		"NAT64 that is allowed, to outside":    {address: "[64:ff9b::5db8:d70e]:80", allowed: []string{"64:ff9b::/96"}, want: true},
		"NAT64 of metadata":                    {address: "[64:ff9b::a9fe:a9fe]:80", allowed: []string{"64:ff9b::/96"}},
		"NAT64 of metadata, all allowed":       {address: "[64:ff9b::a9fe:a9fe]:80", allowed: []string{"::/0", "0.0.0.0/0"}},
		"NAT64 of metadata, by itself":         {address: "[64:ff9b::a9fe:a9fe]:80", allowed: []string{"64:ff9b::a9fe:a9fe/128"}},
		"NAT64 of metadata, both":              {address: "[64:ff9b::a9fe:a9fe]:80", allowed: []string{"64:ff9b::/96", "169.254.169.254/32"}, want: true},
		"NAT64 of a private address":           {address: "[64:ff9b::a01:203]:80", allowed: []string{"64:ff9b::/96"}},
		"NAT64 of one that is allowed":         {address: "[64:ff9b::a01:203]:80", allowed: []string{"64:ff9b::/96", "10.1.0.0/16"}, want: true},
		"local NAT64 to outside":               {address: "[64:ff9b:1::5db8:d70e]:80", allowed: []string{"64:ff9b:1::/48"}, want: true},
		"local NAT64, prefix of 96":            {address: "[64:ff9b:1::a9fe:a9fe]:80", allowed: []string{"64:ff9b:1::/48"}},
		"local NAT64, prefix of 64":            {address: "[64:ff9b:1:0:a9:fea9:fe00:0]:80", allowed: []string{"64:ff9b:1::/48"}},
		"local NAT64, prefix of 56":            {address: "[64:ff9b:1:a9:fe:a9fe::]:80", allowed: []string{"64:ff9b:1::/48"}},
		"local NAT64, prefix of 48":            {address: "[64:ff9b:1:a9fe:a9:fe00::]:80", allowed: []string{"64:ff9b:1::/48"}},
		"6to4 that is allowed":                 {address: "[2002:a9fe:a9fe::1]:80", allowed: []string{"2002::/16"}},
		"6to4 to outside":                      {address: "[2002:5db8:d70e::1]:80", allowed: []string{"2002::/16"}, want: true},
		"Teredo of a private server":           {address: "[2001:0:a01:203::5601:5601]:80", allowed: []string{"2001::/32"}},
		"Teredo of a private client":           {address: "[2001:0:5db8:d70e::5601:5601]:80", allowed: []string{"2001::/32"}},
		"Teredo to outside":                    {address: "[2001:0:5db8:d70e::a247:28f1]:80", allowed: []string{"2001::/32"}, want: true},
		"mapped, where IPv6 is allowed":        {address: "[::ffff:10.1.2.3]:80", allowed: []string{"::/0"}},
		"compatible, where IPv6 is allowed":    {address: "[::a01:203]:80", allowed: []string{"::/0"}},
		"translated, where IPv6 is allowed":    {address: "[::ffff:0:a01:203]:80", allowed: []string{"::/0"}},
		"a public address that is denied":      {address: "93.184.215.14:80", denied: []string{"93.184.215.0/24"}},
		"beside a network that is denied":      {address: "93.184.216.14:80", denied: []string{"93.184.215.0/24"}, want: true},
		"denied and allowed":                   {address: "10.1.2.3:80", allowed: []string{"10.0.0.0/8", "10.1.2.3/32"}, denied: []string{"10.1.0.0/16"}},
		"metadata denied and allowed":          {address: "169.254.169.254:80", allowed: []string{"169.254.169.254/32"}, denied: []string{"169.254.0.0/16"}},
		"a public IPv6 address that is denied": {address: "[2606:2800:21f::1]:80", denied: []string{"2606:2800::/32"}},
		"denied in a zone":                     {address: "[fe80::1%eth0]:80", allowed: []string{"fe80::/10"}, denied: []string{"fe80::/10"}},
		"denied, by NAT64":                     {address: "[64:ff9b::5db8:d70e]:80", allowed: []string{"64:ff9b::/96"}, denied: []string{"93.184.215.0/24"}},
		"denied as it is mapped":               {address: "93.184.215.14:80", denied: []string{"::ffff:93.184.215.0/120"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := "tcp4"
			if strings.HasPrefix(test.address, "[") {
				network = "tcp6"
			}
			err := newGuard(prefixes(test.allowed), prefixes(test.denied)).control(network, test.address)
			if (err == nil) != test.want {
				t.Errorf("got %v, want allowed %t", err, test.want)
			}
		})
	}
	if newGuard(nil, nil).control("unix", "/run/docker.sock") == nil || newGuard(nil, nil).control("udp4", "93.184.215.14:53") == nil {
		t.Error("a socket of the host, or another protocol, is not refused")
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
			if !strings.Contains(got.Error(), "ask those who run the operator") {
				t.Errorf("message %q does not say what to do", got)
			}
			if isName := host == "localhost"; got.Passing != isName { // which may have another address in a moment
				t.Errorf("may be over by itself: %t", got.Passing)
			}
		})
	}
}

// R1.7: who reads a status learns nothing of the addresses inside; those who run the operator do.
func TestARefusalNamesNoAddress(t *testing.T) {
	t.Parallel()
	type refusal struct {
		host    string
		address netip.Addr
	}
	for _, inside := range []string{"10.11.12.13", "169.254.169.254", "192.168.7.8"} {
		var told []refusal
		client := newTestClient(t, Config{})
		names := &nameServer{answers: [][]string{{inside, inside, inside}}}
		names.resolve(t, client)
		dialer := names.dialer
		dialer.refused = func(host string, address netip.Addr, because string) {
			if because == "" {
				t.Error("the log is not told why")
			}
			told = append(told, refusal{host, address})
		}
		response, err := client.Get(t.Context(), Request{URL: "http://inside.example/"})
		got := failed(t, response, err)
		wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0})
		record, err := json.Marshal(failure.Record(got, v1alpha1.StageArticle, "", time.Time{}))
		if err != nil || strings.Contains(string(record), inside) || !strings.Contains(got.Message, "--allow-cidr") {
			t.Errorf("the status would say %s", record)
		}
		if len(told) != 1 || told[0] != (refusal{"inside.example", netip.MustParseAddr(inside)}) {
			t.Errorf("those who run it are told %v, not of one address for each connection", told)
		}
	}
}

// R1.7: nor do other failures tell addresses: not of servers that may be reached, nor of the operator, nor of
// its name servers. What they are stays known.
func TestNoFailureNamesAnAddress(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	broken := serve(t, converseRaw(func(connection net.Conn) {
		_ = connection.(*net.TCPConn).SetLinger(0)
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
	}))
	for name, test := range map[string]struct {
		url      string
		resolves bool
		want     string
	}{
		"nobody listens": {closed.URL, true, failure.TypeConnection},
		"broken off":     {broken.URL, true, failure.TypeConnection},
		"no such name":   {closed.URL, false, failure.TypeDNS},
		"speaks no TLS":  {strings.Replace(broken.URL, "http:", "https:", 1), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}})
			names := &nameServer{answers: [][]string{nil}}
			if test.resolves {
				names.answers = [][]string{{"127.0.0.1"}}
			}
			names.resolve(t, client, loopback)
			response, err := client.Get(t.Context(), Request{URL: strings.Replace(test.url, "127.0.0.1", "inside.example", 1)})
			got := failed(t, response, err)
			if test.want != "" && got.Type != test.want {
				t.Errorf("failure is %s: %v", got.Type, got)
			}
			record, err := json.Marshal(failure.Record(got, v1alpha1.StageArticle, "", time.Time{}))
			if err != nil || strings.Contains(string(record), "127.0.0.1") || len(got.Error()) == 0 {
				t.Errorf("the status would say %s", record)
			}
		})
	}
}

func TestWithoutAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"dial tcp 10.1.2.3:443: connect: connection refused":      "dial tcp (address): connect: connection refused",
		"dial tcp [fd00::1]:443: connect: no route to host":       "dial tcp (address): connect: no route to host",
		"read tcp 10.0.0.1:5432->[fe80::1%eth0]:443: i/o timeout": "read tcp (address)->(address): i/o timeout",
		"lookup feeds.example on 10.96.0.10:53: no such host":     "lookup feeds.example on (address): no such host",
		"from fd00::1, and 10.1.2.3.":                             "from (address), and (address).",
		"feed.cafe: v1.2.3 at 12:30:45 failed":                    "feed.cafe: v1.2.3 at 12:30:45 failed",
	} {
		if got := withoutAddresses(text); got != want {
			t.Errorf("withoutAddresses(%q) = %q, want %q", text, got, want)
		}
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

func prefixes(texts []string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}
