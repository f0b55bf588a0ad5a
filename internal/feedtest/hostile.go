// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Trickle is a hook that sends the headers of an answer a byte at a time, and never comes to their end:
// a client that does not give up waits for ever.
func Trickle(w http.ResponseWriter, _ *http.Request) bool {
	connection := hijack(w)
	defer func() { _ = connection.Close() }()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	_, err := io.WriteString(connection, "HTTP/1.1 200 OK\r\nX-Slow: ")
	for err == nil {
		<-ticker.C
		_, err = connection.Write([]byte{'x'})
	}
	return true
}

// Reset is a hook that sends the beginning of a feed, and then breaks the connection without a word.
func Reset(w http.ResponseWriter, _ *http.Request) bool {
	connection := hijack(w)
	_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nContent-Length: 100000\r\n\r\n"+
		`<?xml version="1.0"?><rss version="2.0"><channel><title>Broken</title><item><title>Half`)
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
	return true
}

func hijack(w http.ResponseWriter) net.Conn {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	return connection
}

// Bomb is a hook that answers with so many bytes of nothing, compressed to a thousandth of that.
func Bomb(t *testing.T, size int64) Hook {
	t.Helper()
	var bomb bytes.Buffer
	writer, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	nothing := make([]byte, 1<<20)
	for left := size; left > 0; left -= int64(len(nothing)) {
		if _, err := writer.Write(nothing[:min(left, int64(len(nothing)))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/rss+xml")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
		return true
	}
}
