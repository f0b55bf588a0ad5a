// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/totals"
)

// sourceState is what this process knows of a source beyond its status, so that an unchanged
// feed costs neither a write nor a read of its memory. All of it can be lost.
//
// A key is reconciled by one worker at a time, which holds the lock.
type sourceState struct {
	sync.Mutex

	uid types.UID
	// firstSeen is from when on this process polls the source: since it works, or since there is the source.
	firstSeen time.Time
	// lastPoll is when this process polled it last.
	lastPoll time.Time
	// interval is the one in force since then, if that poll has succeeded; else zero.
	interval time.Duration
	// lastNews is when a poll of this process has made items last.
	lastNews time.Time
	// generation and token are those of the last poll of this process, also of one that it could not make.
	generation int64
	token      string
	// full is since when polls have found no room in memory for the feed.
	full budget.MemoryBackoff
	// failedWrites is how many polls in a row could not be written down.
	failedWrites int
	// redo is when a poll is to be made again whose result could not be written; zero: none.
	redo time.Time
	// written are the counts that this process has written last, once it has counted; what is cached may be older. Before, they are those that stood there when
	// it first saw the source.
	written v1alpha1.ItemCounts
	counted bool
	// countsWritten is when they were written last by themselves.
	countsWritten time.Time
	// countsStaleSince is since when the counts are behind what has become of new items; zero: they are not.
	countsStaleSince time.Time
	// validators of the last answer, nil until they were read or written once.
	validators *feedmemory.Validators
	// filters of the generation that was looked at last, nil until there was one.
	filters *compiledFilters
	// counters are what the source has come to since it was created.
	counters totals.Counters
	// complete is set once the memory holds the identities of all items, also of those that a poll made that
	// was cut off.
	complete bool
	// firstReport is that of a first poll that has made items: it is written with what becomes of them. nil: there is none.
	firstReport *report
	// today is how many items of the source were created today, as far as this process knows, and reportedToday what of
	// that stands on the status.
	today, reportedToday polling.Intake
	// saysHeld is set while this process has reported that nothing is taken that is written on the items.
	saysHeld bool
	// held is set while entries wait in the feed until there is room.
	held bool
}

// counts are those that stand on the status, as far as this process knows.
func (w *sourceState) counts(source *v1alpha1.FeedSource) v1alpha1.ItemCounts {
	if w.counted {
		return w.written
	}
	return source.Status.Items
}

// countedByAnother reports whether another operator has written counts since this one has, or has first seen the source.
func (w *sourceState) countedByAnother(status *v1alpha1.FeedSourceStatus) bool {
	return w.written != status.Items
}

// noteCreated notes that a poll has made so many items.
func (w *sourceState) noteCreated(items int, poll, now time.Time) {
	if items == 0 {
		return
	}
	w.lastNews = poll
	if w.countsStaleSince.IsZero() {
		w.countsStaleSince = now
	}
}

// nextCountsWrite is when the counts may be written next: once a minute, and in one with what becomes of new
// items, if that is known by then. Who has made a source waits for less to see that it works.
func (w *sourceState) nextCountsWrite(settled bool) time.Time {
	from, patience := w.countsWritten.Add(countsInterval), countsInterval
	if w.firstReport != nil {
		from, patience = time.Time{}, firstReportDelay
	}
	if enough := w.countsStaleSince.Add(patience); !settled && enough.After(from) {
		return enough
	}
	return from
}

// sourceStates are the sources that this process has seen.
type sourceStates struct {
	mu     sync.Mutex
	byName map[types.NamespacedName]*sourceState
	// began is when this process began to work. Until it has seen thousands of sources, poll times of some have
	// passed already, which are its own.
	began time.Time
}

func (w *sourceStates) of(source *v1alpha1.FeedSource, now time.Time) *sourceState {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = now
	}
	key := client.ObjectKeyFromObject(source)
	known := w.byName[key]
	if known == nil || known.uid != source.UID {
		known = &sourceState{uid: source.UID, firstSeen: w.began}
		if source.CreationTimestamp.After(w.began) {
			known.firstSeen = now
		}
		known.counters.Learn(&source.Status)
		known.written = source.Status.Items
		if w.byName == nil {
			w.byName = map[types.NamespacedName]*sourceState{}
		}
		w.byName[key] = known
	}
	return known
}

func (w *sourceStates) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byName, key)
}
