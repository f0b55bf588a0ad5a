// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package samplefeeds

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server serves sample feeds on the loopback interface.
type Server struct {
	*Feeds
	// Base is the URL under which the feeds are served, without a slash at the end.
	Base   string
	server *http.Server
}

// Serve starts to serve the feeds at DefaultBase, or at another port when that one is taken.
func Serve(ctx context.Context) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", strings.TrimPrefix(DefaultBase, "http://"))
	if err != nil {
		if listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("serve the sample feeds: %w", err)
		}
	}
	base := "http://" + listener.Addr().String()
	feeds, err := New(base, time.Now())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &Server{Feeds: feeds, Base: base, server: &http.Server{Handler: feeds, ReadHeaderTimeout: 10 * time.Second}}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Close stops serving at once.
func (s *Server) Close() { _ = s.server.Close() }

// PublishEvery adds a new entry after each interval until ctx ends or nothing new is left, and
// tells what it added.
func (s *Server) PublishEvery(ctx context.Context, interval time.Duration, added func(title string)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			title := s.Publish(now)
			if title == "" {
				return
			}
			added(title)
		}
	}
}

// ServeHTTP answers requests for the feeds and their pages.
func (f *Feeds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := f.answer(strings.TrimPrefix(r.URL.Path, "/"))
	if answer.status != http.StatusOK {
		http.Error(w, http.StatusText(answer.status), answer.status)
		return
	}
	sum := sha256.Sum256(answer.body)
	w.Header().Set("Content-Type", answer.contentType)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	// Does the rest: Last-Modified, conditional requests, ranges.
	http.ServeContent(w, r, "", answer.modified, bytes.NewReader(answer.body))
}

type answer struct {
	status      int
	body        []byte
	contentType string
	modified    time.Time
}

func (f *Feeds) answer(path string) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path == pictureFile {
		body, err := picture()
		return written(body, "image/png", time.Time{}, err)
	}
	for _, in := range f.feeds {
		rest, found := strings.CutPrefix(path, in.name+"/")
		if !found {
			continue
		}
		if rest == in.file {
			body, contentType, err := f.document(in)
			return written(body, contentType, in.updated, err)
		}
		for _, e := range in.entries {
			if e.Path != rest {
				continue
			}
			if e.Late && f.asked[path] < lateAnswers {
				f.asked[path]++
				return answer{status: http.StatusServiceUnavailable}
			}
			body, contentType, err := page(in, e)
			return written(body, contentType, e.Published, err)
		}
	}
	return answer{status: http.StatusNotFound}
}

func written(body []byte, contentType string, modified time.Time, err error) answer {
	if err != nil {
		return answer{status: http.StatusInternalServerError}
	}
	return answer{status: http.StatusOK, body: body, contentType: contentType, modified: modified}
}
