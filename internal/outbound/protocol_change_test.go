// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// R1.6, R3.13: an answer that changes the protocol, which nobody has asked for, holds the operator up no longer than any other: net/http hands
// the connection itself over as the body, and no context ends reading from it.
func TestAChangeOfProtocolThatIsFollowedBySilence(t *testing.T) {
	t.Parallel()
	const within, most = time.Second, 10 * time.Second
	for name, said := range map[string]string{
		"silence": "",
		"a byte":  "x",
	} {
		handler := converseRaw(func(connection net.Conn) {
			_, _ = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"+said)
			_ = connection.SetReadDeadline(time.Now().Add(most + 5*time.Second))
			_, _ = io.Copy(io.Discard, connection)
		})
		for call, ask := range map[string]func(*testing.T, string) error{
			"a document": func(t *testing.T, url string) error {
				_, err := localClient(t).Get(t.Context(), Request{URL: url, Timeout: within})
				return err
			},
			"a call": func(t *testing.T, url string) error {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				request, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
				client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}, AllowHTTP: true})
				answer, err := client.Transport(TransportOptions{FreshConnections: true}).RoundTrip(request)
				if err == nil {
					_, err = io.ReadAll(answer.Body)
					_ = answer.Body.Close()
				}
				return err
			},
		} {
			t.Run(call+" with "+name, func(t *testing.T) {
				t.Parallel()
				server := serve(t, handler)
				began := time.Now()
				done := make(chan struct{})
				go func() { defer close(done); err := ask(t, server.URL); t.Logf("after %v: %v", time.Since(began), err) }()
				select {
				case <-done:
				case <-time.After(most):
					t.Errorf("A call that may take %v is still at it after %v", within, most)
					<-done
				}
			})
		}
	}
}
