// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// fault is what a network does to what is sent over it. All of them concern the connections that there are, too.
type fault string

// The faults of a network.
const (
	healthy fault = ""
	// refused breaks all connections, and takes no new ones.
	refused fault = "refused"
	// requestLost takes requests, and lets none through.
	requestLost fault = "hanging"
	// answerLost lets requests through, and no answer ever.
	answerLost fault = "answers lost"
	// answerCut lets requests through, and breaks the connection in place of the answer.
	answerCut fault = "cut after the request"
)

// network is the way to one server. It never waits for either side: a client that is frozen holds up nobody but itself.
type network struct {
	// URL by which the server is reached.
	URL string

	server string // its address

	mu          sync.Mutex
	fault       fault
	listener    net.Listener // nil: refused
	connections map[*link]struct{}
}

// link is a connection, and the one to the server that belongs to it.
type link struct {
	client, server *net.TCPConn
	// torn is set if something of what was sent over it is lost. It needs the network's lock.
	torn bool
}

// newNetwork makes a way to a server that is there until the test ends.
func newNetwork(t *testing.T, serverURL string) *network {
	t.Helper()
	n := &network{server: strings.TrimPrefix(serverURL, "http://"), connections: map[*link]struct{}{}}
	if err := n.listen(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	n.URL = "http://" + n.listener.Addr().String()
	t.Cleanup(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.close()
	})
	return n
}

// listen needs the lock, but for the first time.
func (n *network) listen(ctx context.Context, address string) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	n.listener = listener
	ctx = context.WithoutCancel(ctx) // who began to listen does not wait for what comes
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go n.serve(ctx, client.(*net.TCPConn))
		}
	}()
	return nil
}

// close needs the lock.
func (n *network) close() {
	if n.listener != nil {
		_ = n.listener.Close()
		n.listener = nil
	}
	for connection := range n.connections {
		connection.reset()
	}
	clear(n.connections)
}

// set makes the network do what a fault says, from now on.
func (n *network) set(now fault) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault = now
	if now == refused {
		n.close()
		return nil
	}
	for connection := range n.connections { // what is half lost cannot go on
		if connection.torn {
			connection.reset()
			delete(n.connections, connection)
		}
	}
	// Somebody else may have the port for a moment, as the end of a connection of theirs.
	return wait.PollUntilContextTimeout(context.Background(), 5*time.Millisecond, patience/10, true, func(ctx context.Context) (bool, error) {
		return n.listener != nil || n.listen(ctx, strings.TrimPrefix(n.URL, "http://")) == nil, nil
	})
}

func (n *network) serve(ctx context.Context, client *net.TCPConn) {
	dialer := net.Dialer{Timeout: patience}
	server, err := dialer.DialContext(ctx, "tcp", n.server)
	if err != nil {
		_ = client.Close()
		return
	}
	connection := &link{client: client, server: server.(*net.TCPConn)}
	n.mu.Lock()
	if n.fault == refused { // it came just before
		n.mu.Unlock()
		connection.reset()
		return
	}
	n.connections[connection] = struct{}{}
	n.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { n.carry(connection, client, connection.server, requestLost) })
	both.Go(func() { n.carry(connection, connection.server, client, answerLost, answerCut) })
	both.Wait()
	connection.end()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.connections, connection)
}

// carry carries what is sent one way, but for what is lost while the network has one of the faults.
func (n *network) carry(connection *link, from, to *net.TCPConn, lost ...fault) {
	defer func() { _ = to.CloseWrite() }()
	buffer := make([]byte, 32<<10)
	for {
		size, err := from.Read(buffer)
		if size > 0 {
			switch n.lose(connection, lost) {
			case healthy:
				if _, err := to.Write(buffer[:size]); err != nil {
					connection.reset()
					return
				}
			case answerCut:
				connection.reset()
				return
			case refused, requestLost, answerLost:
			}
		}
		if err != nil {
			return
		}
	}
}

// lose returns which fault swallows what was sent over a connection; healthy for none.
func (n *network) lose(connection *link, lost []fault) fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range lost {
		if n.fault == one {
			connection.torn = true
			return one
		}
	}
	return healthy
}

// reset breaks both connections, so that nothing that is still on its way arrives.
func (l *link) reset() {
	_ = l.client.SetLinger(0)
	l.end()
}

func (l *link) end() {
	_ = l.client.Close()
	_ = l.server.Close()
}
