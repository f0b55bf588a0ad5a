// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// nameServer answers each question for an IPv4 address with the next of its lists; the last one stays.
type nameServer struct {
	mu      sync.Mutex
	dialer  *dialer
	answers [][]string
	asked   int
}

// resolve makes a client ask the name server, and nobody else.
func (s *nameServer) resolve(t *testing.T, client *Client, allowed ...netip.Prefix) {
	t.Helper()
	var listen net.ListenConfig
	socket, err := listen.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go s.serve(socket)
	dialer := newDialer(Config{AllowCIDRs: allowed})
	dialer.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
	s.dialer, client.transport.DialContext = dialer, dialer.dial
}

func (s *nameServer) serve(socket net.PacketConn) {
	packet := make([]byte, 1500)
	for {
		n, from, err := socket.ReadFrom(packet)
		if err != nil {
			return
		}
		var message dnsmessage.Message
		if message.Unpack(packet[:n]) != nil || len(message.Questions) != 1 {
			continue
		}
		message.Response, message.Additionals = true, nil
		if question := message.Questions[0]; question.Type == dnsmessage.TypeA {
			for _, address := range s.next() {
				message.Answers = append(message.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()},
				})
			}
		}
		if answer, err := message.Pack(); err == nil {
			_, _ = socket.WriteTo(answer, from)
		}
	}
}

func (s *nameServer) next() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	return answer
}

// R1.7: it is not the name that is judged, nor its first address: every connection is, by the address
// that it goes to.
func TestANameThatChangesItsAddressIsRefused(t *testing.T) {
	t.Parallel()
	inside := netip.MustParsePrefix("127.0.0.1/32") // stands for what is outside
	for name, test := range map[string]struct {
		answers [][]string
		// redirected has the change happen between two requests of one exchange.
		redirected bool
	}{
		"between two polls":               {answers: [][]string{{"127.0.0.1"}, {"127.0.0.2"}}},
		"between two polls, to metadata":  {answers: [][]string{{"127.0.0.1"}, {"169.254.169.254"}}},
		"between a request and the next":  {answers: [][]string{{"127.0.0.1"}, {"127.0.0.2"}}, redirected: true},
		"from one address to several bad": {answers: [][]string{{"127.0.0.1"}, {"127.0.0.2", "10.0.0.1", "169.254.169.254"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "close")
				if r.URL.Path == "/redirect" {
					http.Redirect(w, r, "/feed", http.StatusFound)
				}
			})
			_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
			client := newTestClient(t, Config{})
			names := &nameServer{answers: test.answers}
			names.resolve(t, client, inside)
			url := "http://rebinding.example:" + port
			if test.redirected {
				url += "/redirect"
			} else if _, err := client.Get(t.Context(), Request{URL: url}); err != nil {
				t.Fatal(err)
			}
			response, err := client.Get(t.Context(), Request{URL: url})
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0})
			if !strings.Contains(got.Error(), "The address of rebinding.example:"+port+" is") || strings.Contains(got.Error(), test.answers[1][0]) {
				t.Errorf("message %q", got)
			}
		})
	}
}
