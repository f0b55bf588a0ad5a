// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/flight"
)

const (
	// snapshotEvery is how long a turn is, in which one snapshot is taken at most; in a cluster with very many items it is longer, so that a snapshot takes
	// a twentieth of it and does not keep a core busy. Turns begin with a full second, and not with a change: how soon a person is told of their own
	// would say whether others have changed something just before.
	snapshotEvery = time.Second
	snapshotShare = 20
	// oldest is how old a snapshot may become though no object has changed: pauses end, and feeds become stale, by time alone. All turns divide it.
	oldest = 10 * time.Second
)

// Board keeps the one Snapshot that all viewers share.
type Board struct {
	cache client.Reader
	now   func() time.Time

	changed atomic.Bool   // since the last snapshot was begun
	wake    chan struct{} // holds something when that has happened
	// stale are the sources of which items have changed since; all is set where it may be any.
	hearing sync.Mutex
	stale   map[types.UID]bool
	all     bool

	// taking has who comes while a snapshot is taken get the same, or the same error: while the cache is filled all wait together.
	taking flight.Group[*Snapshot]
	parts  map[types.UID]*part // of the latest; for who takes one alone

	mu     sync.Mutex
	latest *Snapshot
	looked time.Time // when it was last made sure that it is good
	took   time.Duration

	watching sync.Mutex
	watchers int
	news     chan struct{} // closed when there is another snapshot
	stop     context.CancelFunc
}

// NewBoard returns a board that reads a cache.
func NewBoard(cache client.Reader, now func() time.Time) *Board {
	return &Board{cache: cache, now: now, wake: make(chan struct{}, 1), news: make(chan struct{})}
}

// Hear has the board hear of every change that a cache hears of.
func (b *Board) Hear(ctx context.Context, kinds cache.Cache) error {
	for _, kind := range []client.Object{&v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}, &v1alpha1.AIProvider{}, &v1alpha1.FeedDestination{}} {
		informer, err := kinds.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: b.hear, UpdateFunc: func(_, now any) { b.hear(now) }, DeleteFunc: b.hear,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mostStale is of how many sources it is noted that items have changed; with more, all are read again.
const mostStale = 10_000

// hear notes what an event of the cache was about. It costs next to nothing while nobody looks.
func (b *Board) hear(object any) {
	if gone, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	if item, is := object.(*v1alpha1.FeedItem); is {
		b.hearing.Lock()
		if b.stale == nil {
			b.stale = map[types.UID]bool{}
		}
		if len(b.stale) < mostStale {
			b.stale[item.Spec.SourceRef.UID] = true
		} else {
			b.all = true
		}
		b.hearing.Unlock()
	}
	b.tell()
}

// Changed says that nothing of the last snapshot may be right any more.
func (b *Board) Changed() {
	b.doubt()
	b.tell()
}

// doubt has all items read again.
func (b *Board) doubt() {
	b.hearing.Lock()
	defer b.hearing.Unlock()
	b.all = true
}

func (b *Board) tell() {
	b.changed.Store(true)
	b.rouse()
}

func (b *Board) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Current returns a snapshot that was taken in this turn, or that nothing has changed since when the turn was first looked in.
func (b *Board) Current(ctx context.Context) (*Snapshot, error) {
	if known := b.known(); known != nil {
		return known, nil
	}
	return b.taking.Do(ctx, "", readTimeout, func(ctx context.Context) (*Snapshot, error) {
		if known := b.known(); known != nil { // it was taken while this one came
			return known, nil
		}
		b.changed.Store(false) // what changes from here on may not be in it
		began := b.now()
		latest, parts, err := take(ctx, b.cache, began, b.unchanged())
		if err != nil {
			b.doubt() // and wake nobody, who would only try again at once
			b.changed.Store(true)
			return nil, err
		}
		b.parts = parts
		b.mu.Lock()
		defer b.mu.Unlock()
		b.latest, b.looked, b.took = latest, began, b.now().Sub(began)
		return latest, nil
	})
}

// known is the latest snapshot, if it is good still.
func (b *Board) known() *Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, turn := b.now(), b.pause()
	switch {
	case b.latest == nil:
		return nil
	case b.looked.Truncate(turn).Equal(now.Truncate(turn)): // as who came first in this turn has seen it, whether anything had changed or not
	case b.changed.Load() || !b.latest.AsOf.Equal(now.Truncate(oldest)):
		return nil
	}
	b.looked = now
	return b.latest
}

// unchanged are the items of the last snapshot that are right still.
func (b *Board) unchanged() map[types.UID]*part {
	b.hearing.Lock()
	defer b.hearing.Unlock()
	for source := range b.stale {
		delete(b.parts, source)
	}
	if b.all {
		b.parts = nil
	}
	b.stale, b.all = nil, false
	return b.parts
}

// pause is how long a turn is. The lock is held.
func (b *Board) pause() time.Duration {
	for _, turn := range []time.Duration{snapshotEvery, 2 * snapshotEvery, 5 * snapshotEvery} {
		if snapshotShare*b.took <= turn {
			return turn
		}
	}
	return oldest
}

// untilNext is how long it takes until the next turn of so long begins.
func untilNext(now time.Time, turn time.Duration) time.Duration {
	return now.Truncate(turn).Add(turn).Sub(now)
}

// Watch has snapshots taken as things change until the returned function is called. News returns a channel that is closed when there is
// another one.
func (b *Board) Watch() (news func() <-chan struct{}, stop func()) {
	b.watching.Lock()
	defer b.watching.Unlock()
	if b.watchers++; b.watchers == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		b.stop = cancel
		if b.changed.Load() { // while nobody watched, or who watched last has left before that was told
			b.rouse()
		}
		go b.follow(ctx)
	}
	return b.next, sync.OnceFunc(func() {
		b.watching.Lock()
		defer b.watching.Unlock()
		if b.watchers--; b.watchers == 0 {
			b.stop()
			b.stop = nil
		}
	})
}

func (b *Board) next() <-chan struct{} {
	b.watching.Lock()
	defer b.watching.Unlock()
	return b.news
}

// follow takes snapshots while somebody watches.
func (b *Board) follow(ctx context.Context) {
	for {
		aged := time.NewTimer(untilNext(b.now(), oldest))
		select {
		case <-ctx.Done():
			aged.Stop()
			return
		case <-b.wake:
			aged.Stop()
			b.mu.Lock()
			turn := b.pause()
			b.mu.Unlock()
			rest := time.NewTimer(untilNext(b.now(), turn))
			select {
			case <-ctx.Done():
				rest.Stop()
				return
			case <-rest.C:
			}
		case <-aged.C:
		}
		if _, err := b.Current(ctx); err != nil {
			continue // the viewers are told when they ask
		}
		if b.changed.Load() { // since then; or the clock has not come to the next turn yet
			b.rouse()
		}
		b.watching.Lock()
		close(b.news)
		b.news = make(chan struct{})
		b.watching.Unlock()
	}
}
