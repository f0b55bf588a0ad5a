// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watches knows for how long the cache hears nothing new of a kind, because the API server lets nobody watch it. It answers all else meanwhile,
// and what is cached looks as good as ever.
//
// It knows requests and how their answers begin. It must never know what is watched, nor how a watch ends.
package watches

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/feed-operator/feed-operator/internal/apipath"
)

// Watches are those of the operator's kinds. They are safe for concurrent use.
type Watches struct {
	passed func() time.Duration

	mu      sync.Mutex
	refused map[place]time.Duration // since when, of those that are
}

// place is what one watch is of.
type place struct{ namespace, resource string }

// New returns what knows of no watch yet. Passed is how much time has passed since whenever, whatever any clock is set to.
func New(passed func() time.Duration) *Watches {
	return &Watches{passed: passed, refused: map[place]time.Duration{}}
}

// WrapTransport hears of the watches that go through a transport, for rest.Config.Wrap.
func (w *Watches) WrapTransport(next http.RoundTripper) http.RoundTripper { return hearing{next, w} }

// Silence is for how long nothing new is heard of what is in some namespaces; 0: all of it is watched.
func (w *Watches) Silence(namespaces []string) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refused) == 0 {
		return 0
	}
	of := map[string]bool{"": true}
	for _, namespace := range namespaces {
		of[namespace] = true
	}
	for at, since := range w.refused {
		if of[at.namespace] {
			longest = max(longest, w.passed()-since)
		}
	}
	return longest
}

type hearing struct {
	http.RoundTripper
	watches *Watches
}

// RoundTrip implements http.RoundTripper. A cache begins with a list or with a watch, by what the API server knows; a list of its own names the
// resourceVersion from which on it is good enough, and a watch follows it. All other lists say nothing of a cache.
func (h hearing) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := h.RoundTripper.RoundTrip(request)
	asked := request.URL.Query()
	watch := asked.Get("watch") == "true"
	if request.Method != http.MethodGet || !watch && asked.Get("resourceVersion") == "" {
		return response, err
	}
	if namespace, resource, name := apipath.Of(request.URL.Path); resource != "" && name == "" {
		h.watches.answered(place{namespace, resource}, Refused(request, response, err), watch && err == nil && response.StatusCode == http.StatusOK)
	}
	return response, err
}

func (w *Watches) answered(at place, refused, begun bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, was := w.refused[at]
	switch {
	case refused && !was:
		w.refused[at] = w.passed()
	case begun:
		delete(w.refused, at)
	}
}

// Refused reports whether a list or a watch has failed. An operator that stops ends its own watches, which is no failure; a time that has run out
// is one. So is every refusal but 410, by which a watch ends normally: its resourceVersion is too old, and a new list follows.
func Refused(request *http.Request, response *http.Response, err error) bool {
	if err != nil {
		return !errors.Is(request.Context().Err(), context.Canceled)
	}
	return response.StatusCode >= http.StatusBadRequest && response.StatusCode != http.StatusGone
}

// WrappedRoundTripper lets client-go find the transport below, which it closes idle connections of.
func (h hearing) WrappedRoundTripper() http.RoundTripper { return h.RoundTripper }
