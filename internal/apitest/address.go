// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// addresses is how many addresses were given out.
var addresses atomic.Uint32

// FreeAddress returns an address of the loopback interface on which a program can be told to listen.
func FreeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// freeAddress finds an address that stays free. A port that was free a moment ago may be given to anybody before a program has it; so the host is one that
// nobody else asks for, by the number of this process, where the system has more than one (Linux).
func freeAddress(ctx context.Context) (string, error) {
	pid, n := os.Getpid(), addresses.Add(1)
	var err error
	for _, host := range []string{fmt.Sprintf("127.%d.%d.%d", 64+(pid>>8)%128, pid%256, 1+n%250), "127.0.0.1"} {
		var listener net.Listener
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0")); err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", err
}
