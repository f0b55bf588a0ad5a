// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Where free ports are looked for: below those that Linux (from 32768), macOS and Windows (from 49152) give to who asks for any, and those that
// Kubernetes gives to Services (from 30000).
const (
	lowestPort  = 20000
	highestPort = 29999
	mostTries   = 100
)

// FreeAddress is an address of this machine where nobody listens, and which the system gives to nobody before a program that is told to listen there has
// it: it is some seconds until it does.
func FreeAddress(ctx context.Context) (string, error) {
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return "", err
	}
	return onLoopback(ports[0]), nil
}

// freePorts finds so many ports of the loopback interface, as FreeAddress does.
func freePorts(ctx context.Context, count int) ([]int, error) {
	var config net.ListenConfig
	ports := make([]int, 0, count)
	for tries := 1; len(ports) < count; tries++ {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1) //nolint:gosec // it is no secret
		listener, err := config.Listen(ctx, "tcp", onLoopback(port))
		if err != nil {
			if tries == mostTries {
				return nil, fmt.Errorf("find %d free ports from %d to %d: %w", count, lowestPort, highestPort, err)
			}
			continue
		}
		defer listener.Close() //nolint:errcheck // no port is found twice, and nothing was read or written
		ports = append(ports, port)
	}
	return ports, nil
}

func onLoopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
