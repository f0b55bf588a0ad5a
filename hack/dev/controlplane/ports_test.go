// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// R6.1: the ports of a control plane are none that another program is given before its processes listen there, as long as there are others.
func TestAFreePortIsGivenToNobodyElse(t *testing.T) {
	t.Parallel()
	ports, err := freePorts(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if port < lowestPort || port > highestPort || seen[port] {
			t.Errorf("%d among %v", port, ports)
		}
		seen[port] = true
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", onLoopback(port))
		if err != nil {
			t.Fatalf("it is not free: %v", err)
		}
		_ = listener.Close()
	}
	lowest := 0
	given, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(given), &lowest)
	}
	if err == nil && lowest <= highestPort {
		t.Skipf("this system is set up to give ports from %d, not from 32768", lowest)
	}
}
