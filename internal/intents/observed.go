// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intents knows since when this process has known of the intents that are on items.
//
// It knows items and the time that passes on this machine. Nothing is read or written here.
package intents

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// Observed knows since when this process has known of intents. When an intent ends is written by the clock of
// an API server; another one may have another clock, or it may be set, while the call goes on as long as ever. So nobody takes
// a call for settled that he has not known of for as long as calls take, by the time that passes on his own machine (R4.4). The
// zero value knows none.
type Observed struct {
	mu    sync.Mutex
	items map[types.NamespacedName]map[string]observation // by destination
}

// ClockTolerance is how exactly a clock shows the API server's time.
const ClockTolerance = 2 * time.Second

// observation is when an intent was seen first, and the first of those that were not settled before it.
type observation struct {
	notAfter  metav1.Time
	at, first time.Duration
}

// Observe notes the intents that are on an item, which may be an older form of it, and forgets those of deliveries that have ended: who looked at an
// older form may have noted them once more.
func (s *Observed) Observe(item *v1alpha1.FeedItem, clock interface{ Now() time.Time }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := client.ObjectKeyFromObject(item)
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		if row.Ended() {
			s.forget(name, row.Destination)
			continue
		}
		seen, known := s.items[name][row.Destination]
		if !lifecycle.Announced(row) || known && seen.notAfter.Equal(row.NotAfter) {
			continue
		}
		if s.items == nil {
			s.items = map[types.NamespacedName]map[string]observation{}
		}
		if s.items[name] == nil {
			s.items[name] = map[string]observation{}
		}
		now := observation{notAfter: *row.NotAfter, at: apiclock.PassedBy(clock), first: seen.first}
		if !known {
			now.first = now.at
		}
		s.items[name][row.Destination] = now
	}
}

func (s *Observed) forget(name types.NamespacedName, destination string) {
	if delete(s.items[name], destination); len(s.items[name]) == 0 {
		delete(s.items, name)
	}
}

// ForgetEnded forgets the intents that are over on an item as it was written just now.
func (s *Observed) ForgetEnded(item *v1alpha1.FeedItem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := client.ObjectKeyFromObject(item)
	for destination := range s.items[name] {
		if !lifecycle.Announced(lifecycle.RowOf(item, destination)) {
			delete(s.items[name], destination)
		}
	}
	if len(s.items[name]) == 0 {
		delete(s.items, name)
	}
}

// Remaining is how long the call of an intent that was seen may still go on, and its post still come, if it takes so long at most.
func (s *Observed) Remaining(item *v1alpha1.FeedItem, row *v1alpha1.Delivery, timeout time.Duration, clock interface{ Now() time.Time }) time.Duration {
	if !lifecycle.Announced(row) {
		return 0
	}
	return s.observation(item, row, clock).at + timeout + lifecycle.SettleTime - ClockTolerance - apiclock.PassedBy(clock)
}

// Since is for how long this process has known that a delivery may have been published.
func (s *Observed) Since(item *v1alpha1.FeedItem, row *v1alpha1.Delivery, clock interface{ Now() time.Time }) time.Duration {
	if !lifecycle.Announced(row) {
		return 0
	}
	return apiclock.PassedBy(clock) - s.observation(item, row, clock).first
}

func (s *Observed) observation(item *v1alpha1.FeedItem, row *v1alpha1.Delivery, clock interface{ Now() time.Time }) observation {
	s.Observe(item, clock)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[client.ObjectKeyFromObject(item)][row.Destination]
}

// Drop forgets the intents of an item.
func (s *Observed) Drop(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, name)
}
