// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// watchedSource is what this process knows of a source beyond its status, so that an unchanged
// feed costs neither a write nor a read of its memory. All of it can be lost.
//
// A key is reconciled by one worker at a time, so its fields need no lock.
type watchedSource struct {
	uid types.UID
	// firstSeen is from when on this process polls the source: since it works, or since there is the source.
	firstSeen time.Time
	// lastPoll is when this process polled it last.
	lastPoll time.Time
	// lastNews is when a poll of this process has made items last.
	lastNews time.Time
	// generation and token are those of the last poll of this process, also of one that it could not make.
	generation int64
	token      string
	// failedWrites is how many polls in a row could not be written down.
	failedWrites int
	// redo is when a poll is to be made again whose result could not be written; zero: none.
	redo time.Time
	// countsWritten is when the counts were written last.
	countsWritten time.Time
	// validators of the last answer, nil until they were read or written once.
	validators *validators
	// filters of the generation that was looked at last, nil until there was one.
	filters *compiledFilters
	// filteredUntold is how many entries the filters have dropped that the status does not count yet.
	filteredUntold int64
	// complete is set once the memory holds the identities of all items, also of those that a poll made that
	// was cut off.
	complete bool
	// held is set while entries wait in the feed until there is room.
	held bool
}

// countable is when the counts may be written next.
func (w *watchedSource) countable() time.Time {
	minute, settled := w.countsWritten.Add(countsInterval), w.lastNews.Add(countsDelay)
	if minute.After(settled) {
		return minute
	}
	return settled
}

// watchedSources are the sources that this process has seen.
type watchedSources struct {
	mu     sync.Mutex
	byName map[types.NamespacedName]*watchedSource
	// began is when this process began to work. Until it has seen thousands of sources, poll times of some have
	// passed already, which are its own.
	began time.Time
}

func (w *watchedSources) of(source *v1alpha1.FeedSource, now time.Time) *watchedSource {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = now
	}
	key := client.ObjectKeyFromObject(source)
	known := w.byName[key]
	if known == nil || known.uid != source.UID {
		known = &watchedSource{uid: source.UID, firstSeen: w.began}
		if source.CreationTimestamp.After(w.began) {
			known.firstSeen = now
		}
		if w.byName == nil {
			w.byName = map[types.NamespacedName]*watchedSource{}
		}
		w.byName[key] = known
	}
	return known
}

func (w *watchedSources) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byName, key)
}
