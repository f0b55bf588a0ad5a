// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batches

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/intents"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
)

// knowledge is what this process knows of the batches of a destination.
type knowledge struct {
	of types.UID
	// seen is since when it has known of the requests that are announced, by batch: as package delivery does for items.
	seen map[string]announcement
	// handed are the members whose results are on their items.
	handed map[memberKey]bool
	// refused is when their results are written again that were not taken, by what time has passed on this machine.
	refused map[memberKey]time.Duration
	// held is until when none is written, because the API server takes nothing.
	held time.Duration
	// kept is what is kept of batches, announced or not; listed is set once what others have left is among it.
	kept   map[string]types.UID
	listed bool
	// passed are the items that do not wait, by what the API server has of them, each with the version of it that the cache has and by which it does.
	passed map[types.UID]string
}

// memberKey is an item in a batch.
type memberKey struct {
	batch string
	item  types.UID
}

// announcement is when a request that ends at a time was seen first.
type announcement struct {
	notAfter metav1.Time
	at       time.Duration
}

// knownOf returns what is known of a destination, under the lock. Of one that has the name of another that is gone, that is nothing.
func (b *Batcher) knownOf(d *v1alpha1.FeedDestination) *knowledge {
	name := client.ObjectKeyFromObject(d)
	known := b.known[name]
	if known == nil || known.of != d.UID {
		if b.known == nil {
			b.known = map[types.NamespacedName]*knowledge{}
		}
		known = &knowledge{
			of: d.UID, seen: map[string]announcement{}, handed: map[memberKey]bool{},
			refused: map[memberKey]time.Duration{}, kept: map[string]types.UID{}, passed: map[types.UID]string{},
		}
		b.known[name] = known
	}
	return known
}

// pass notes that an item which was read does not wait for a destination, though by the older form that the cache has it does.
func (b *Batcher) pass(d *v1alpha1.FeedDestination, cached, read *v1alpha1.FeedItem) {
	if cached.ResourceVersion == read.ResourceVersion {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.knownOf(d).passed[cached.UID] = cached.ResourceVersion
}

// withoutPassed leaves out of the items that wait for a destination by the cache those that do not: each would be read again for each batch.
func (b *Batcher) withoutPassed(d *v1alpha1.FeedDestination, waiting []*v1alpha1.FeedItem) []*v1alpha1.FeedItem {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, before := b.knownOf(d), b.knownOf(d).passed
	known.passed = map[types.UID]string{}
	return slices.DeleteFunc(waiting, func(cached *v1alpha1.FeedItem) bool {
		if before[cached.UID] != cached.ResourceVersion {
			return false
		}
		known.passed[cached.UID] = cached.ResourceVersion
		return true
	})
}

// forgetDestination forgets what is known of a destination that is gone.
func (b *Batcher) forgetDestination(name types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, name)
}

// forgetUID forgets what is known of a destination, unless another one has its name by now.
func (b *Batcher) forgetUID(d *v1alpha1.FeedDestination) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name := client.ObjectKeyFromObject(d); b.known[name] != nil && b.known[name].of == d.UID {
		delete(b.known, name)
	}
}

// remaining is how long a request that was announced may still be under way, by what time has passed on this machine since it was known.
func (b *Batcher) remaining(d *v1alpha1.FeedDestination, of *v1alpha1.Batch) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.knownOf(d)
	if !of.InFlight || of.NotAfter == nil {
		delete(known.seen, of.Key)
		return 0
	}
	seen, is := known.seen[of.Key]
	if !is || !seen.notAfter.Equal(of.NotAfter) {
		seen = announcement{*of.NotAfter, apiclock.PassedBy(b.Clock)}
		known.seen[of.Key] = seen
	}
	return seen.at + d.Timeout() + lifecycle.SettleTime - intents.ClockTolerance - apiclock.PassedBy(b.Clock)
}

// hasResults reports whether a batch has results that are to be written on their items now, or that are there and are to be removed; and in how long one
// is written again that was not taken.
func (b *Batcher) hasResults(d *v1alpha1.FeedDestination, of *v1alpha1.Batch) (now bool, refused time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, open := b.knownOf(d), batch.Open(of)
	now = !open && len(of.Members) == 0
	for i := range of.Members {
		key := memberKey{of.Key, of.Members[i].UID}
		wait := max(known.refused[key], known.held) - apiclock.PassedBy(b.Clock)
		switch {
		case of.Members[i].State == v1alpha1.BatchMemberOpen:
		case known.handed[key]:
			now = now || !open
		case wait <= 0:
			now = true
		case refused == 0 || wait < refused:
			refused = wait
		}
	}
	return now, refused
}

// isDue reports whether the result of a member is to be written on its item now.
func (b *Batcher) isDue(d *v1alpha1.FeedDestination, key memberKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.knownOf(d)
	return !known.handed[key] && max(known.refused[key], known.held) <= apiclock.PassedBy(b.Clock)
}

// isHanded reports whether the result of a member is on its item.
func (b *Batcher) isHanded(d *v1alpha1.FeedDestination, key memberKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.knownOf(d).handed[key]
}

// written notes whether the result of a member was taken.
func (b *Batcher) written(d *v1alpha1.FeedDestination, key memberKey, taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.knownOf(d)
	if !taken {
		known.refused[key] = apiclock.PassedBy(b.Clock) + posting.AfterError
		return
	}
	delete(known.refused, key)
	known.handed[key], known.held = true, 0
}

// holdResults has no more results written for now: the API server takes nothing.
func (b *Batcher) holdResults(d *v1alpha1.FeedDestination) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.knownOf(d).held = apiclock.PassedBy(b.Clock) + posting.AfterError
}

// begins forgets what is known of the members of a batch with a key that is made now: another one had the same items and was removed by hand.
func (b *Batcher) begins(d *v1alpha1.FeedDestination, batch string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.knownOf(d)
	of := func(key memberKey) bool { return key.batch == batch }
	maps.DeleteFunc(known.handed, func(key memberKey, _ bool) bool { return of(key) })
	maps.DeleteFunc(known.refused, func(key memberKey, _ time.Duration) bool { return of(key) })
}

// removed forgets a member that does not stand on its batch any more.
func (b *Batcher) removed(d *v1alpha1.FeedDestination, key memberKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.knownOf(d).handed, key)
}
