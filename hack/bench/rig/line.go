// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Line is a way to the API server that can be cut: then nothing passes any more, and nobody is told.
type Line struct {
	listener net.Listener
	target   string
	// Kubeconfig is the file that leads over the line.
	Kubeconfig string

	mu    sync.Mutex
	whole sync.RWMutex // held by who cuts it
	conns []net.Conn
	cut   bool
}

// NewLine makes a line of its own for one operator.
func (p *Plane) NewLine(ctx context.Context) (*Line, error) {
	text, err := os.ReadFile(p.cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(p.config.Host)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Line{listener: listener, target: server.Host}
	over := strings.ReplaceAll(string(text), server.Host, listener.Addr().String())
	if over == string(text) {
		l.Close()
		return nil, fmt.Errorf("the kubeconfig does not say %s", server.Host)
	}
	file, err := os.CreateTemp(p.dir, "line-*.kubeconfig") // readable by its owner alone
	if err != nil {
		l.Close()
		return nil, err
	}
	l.Kubeconfig = filepath.Clean(file.Name())
	if _, err := file.WriteString(over); err != nil {
		l.Close()
		return nil, err
	}
	go l.accept(ctx)
	return l, file.Close()
}

// Cut has nothing pass any more, in either direction.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		l.cut = true
		l.whole.Lock()
	}
}

// Close ends all connections.
func (l *Line) Close() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	if l.cut {
		l.cut = false
		l.whole.Unlock()
	}
}

func (l *Line) accept(ctx context.Context) {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		var dialer net.Dialer
		far, err := dialer.DialContext(ctx, "tcp", l.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, near, far)
		l.mu.Unlock()
		go l.carry(near, far)
		go l.carry(far, near)
	}
}

// carry passes on what comes from one end to the other.
func (l *Line) carry(from, to net.Conn) {
	_, _ = io.Copy(writerOf{l, to}, from)
	_ = to.Close()
}

// writerOf writes to one end of a line, as long as it is whole.
type writerOf struct {
	line *Line
	to   io.Writer
}

func (w writerOf) Write(data []byte) (int, error) {
	w.line.whole.RLock()
	defer w.line.whole.RUnlock()
	return w.to.Write(data)
}
