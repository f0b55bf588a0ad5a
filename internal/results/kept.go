// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/writes"
)

const (
	// maxKeptBytes is how much memory results may take that the API server does not take, in bytes. A namespace may hold as much as it
	// leaves free, so one alone has half. Nothing is begun for it beyond that; what was under way by then is kept all the same.
	maxKeptBytes = 16 << 20
	// largestResult is what the largest result takes, about: a summary of 10,000 characters of four bytes, and what
	// belongs to it.
	largestResult = 64 << 10
	// keptTimeout bounds one try to write what is kept. An API server that is slow is waited for: only one try is
	// made at a time.
	keptTimeout = time.Minute
	// LongestResultWait is the longest wait before a result is tried again that is refused while others of its namespace are taken.
	LongestResultWait = 10 * time.Minute
	// FullRecheckInterval is when it is looked again whether there is room for another result of a namespace.
	FullRecheckInterval = time.Minute
)

// keptResults are the results that the API server has not taken, until it does (R3.14). They are in memory only: after a restart the
// calls that they are of are made again where that costs money, and looked for where others may see them. The zero value has none.
type keptResults struct {
	mu    sync.Mutex
	items map[types.NamespacedName]*keptItem
	bytes int64
	held  map[string]int64 // by namespace, in bytes
}

// keptItem is what is kept of one item.
type keptItem struct {
	uid     types.UID
	results []keptResult
	// tries that were refused while others of the namespace were taken, and when the next one is due.
	tries     int
	notBefore time.Time
}

type keptResult struct {
	Result
	bytes int64
}

// keep keeps a result of an item, in place of an older one about the same.
func (k *keptResults) keep(item *v1alpha1.FeedItem, known Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := client.ObjectKeyFromObject(item)
	kept := k.items[name]
	if kept != nil && kept.uid != item.UID {
		k.remove(name)
		kept = nil
	}
	if kept == nil {
		if k.items == nil {
			k.items, k.held = map[types.NamespacedName]*keptItem{}, map[string]int64{}
		}
		kept = &keptItem{uid: item.UID}
		k.items[name] = kept
	}
	k.removeResult(name, kept, known.About())
	added := keptResult{known, known.PutAway()}
	kept.results = append(kept.results, added)
	k.add(name.Namespace, added.bytes)
}

// Has reports whether anything is kept of an item, and from when on it is to be tried by itself.
func (k *keptResults) Has(name types.NamespacedName) (notBefore time.Time, yes bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kept := k.items[name]; kept != nil {
		return kept.notBefore, true
	}
	return time.Time{}, false
}

// first returns what is to be written first of an item, and of which; nil for nothing.
func (k *keptResults) first(name types.NamespacedName) (types.UID, Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kept := k.items[name]; kept != nil {
		return kept.uid, kept.results[0].Result
	}
	return "", nil
}

// refused notes that an item was refused for its own sake, and returns when to try again.
func (k *keptResults) refused(name types.NamespacedName, now time.Time) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.items[name]
	if kept == nil {
		return now
	}
	kept.tries = min(kept.tries+1, 1000)
	kept.notBefore = now.Add(writes.Wait(string(kept.uid), kept.tries, LongestResultWait))
	return kept.notBefore
}

// done forgets a result of an item.
func (k *keptResults) done(name types.NamespacedName, known Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.items[name]
	if kept == nil {
		return
	}
	k.removeResult(name, kept, known.About())
	if len(kept.results) == 0 {
		delete(k.items, name)
	}
}

// Drop forgets what is kept of an item.
func (k *keptResults) Drop(name types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(name)
}

// names are the items of which something is kept.
func (k *keptResults) names() []types.NamespacedName {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.items))
}

// Full reports whether there is no room for another result of a namespace.
func (k *keptResults) Full(namespace string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held[namespace]+largestResult > maxKeptBytes-k.bytes-largestResult
}

// removeResult takes a result out of those of an item, under the lock.
func (k *keptResults) removeResult(name types.NamespacedName, kept *keptItem, about string) {
	kept.results = slices.DeleteFunc(kept.results, func(known keptResult) bool {
		if known.About() != about {
			return false
		}
		k.add(name.Namespace, -known.bytes)
		return true
	})
}

func (k *keptResults) remove(name types.NamespacedName) {
	if kept := k.items[name]; kept != nil {
		for _, known := range kept.results {
			k.add(name.Namespace, -known.bytes)
		}
		delete(k.items, name)
	}
}

func (k *keptResults) add(namespace string, bytes int64) {
	k.bytes += bytes
	if k.held[namespace] += bytes; k.held[namespace] == 0 {
		delete(k.held, namespace)
	}
}

// Results writes on items what has become known of them, and reports it.
type Results struct {
	Clock clock.WithDelayedExecution
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Writes knows what has become of what Client has written.
	Writes *itemwrites.Writes
	// Recordable knows whether what comes of the work can be written down.
	Recordable *crdcheck.Checker
	// Services knows who refuses credentials.
	Services *services.Services
	Recorder events.EventRecorder
	Stream   telemetry.Stream
	Waker    *queue.Waker

	Kept keptResults
	// unread are items on which something was written that the cache may not have heard of, and that have more to do at once.
	unread sync.Map // by types.NamespacedName
}

// Held is what the API server does not take at the moment.
func (r *Results) Held() metrics.Held {
	server, namespaces := r.Writes.Counts()
	items, bytes := r.Kept.counts()
	return metrics.Held{Server: server, Namespaces: namespaces, Results: int64(items), Bytes: bytes}
}

// WriteResult writes a result on an item. Where the API server does not take it, it is kept until that does: then there is neither
// an item nor an error, and the item is to be looked at again.
func (r *Results) WriteResult(ctx context.Context, item *v1alpha1.FeedItem, known Result) (*v1alpha1.FeedItem, error) {
	tries := record.TriesInPlace
	if ctx.Err() != nil { // the manager is stopping: nobody tries again later
		tries = record.Backoff.Steps
	}
	writing, cancel := record.Context(ctx)
	defer cancel()
	written, err := known.Write(writing, item, tries)
	if err == nil {
		r.noteUnread(item, written)
	}
	if err == nil || !itemwrites.WorthKeeping(err) {
		return written, err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Kept a result in memory until the API server accepts it", "about", known.About(), "error", err.Error())
	r.Kept.keep(item, known)
	if !r.Writes.Held(item.Namespace) {
		r.TryLater(item)
	}
	return nil, nil
}

// TryLater has what is kept of an item tried again by itself: others of its namespace are taken.
func (r *Results) TryLater(item *v1alpha1.FeedItem) {
	r.WakeAt(item, r.Kept.refused(client.ObjectKeyFromObject(item), r.Clock.Now()))
}

// WriteAllKept writes all that is kept of an item, up to the first that is not taken.
func (r *Results) WriteAllKept(ctx context.Context, name types.NamespacedName) error {
	for {
		uid, known := r.Kept.first(name)
		if known == nil {
			return nil
		}
		err := r.writeOneKept(ctx, name, uid, known)
		switch {
		case err == nil:
		case itemwrites.WorthKeeping(err):
			return err
		default:
			ctrl.LoggerFrom(ctx).Error(err, "Dropped a result that the API server will never accept", "about", known.About())
		}
		r.Kept.done(name, known)
	}
}

func (r *Results) writeOneKept(ctx context.Context, name types.NamespacedName, uid types.UID, known Result) error {
	writing, cancel := record.Lasting(ctx, keptTimeout)
	defer cancel()
	var live v1alpha1.FeedItem
	switch err := r.Live.Get(writing, name, &live); {
	case apierrors.IsNotFound(err), err == nil && live.UID != uid:
		return nil // it is gone, and nobody asks any more
	case err != nil:
		r.Writes.Ended(writing, name, err)
		return err
	}
	written, err := known.Write(writing, &live, 1)
	if err == nil {
		r.noteUnread(&live, written)
	}
	if apierrors.IsNotFound(err) && !itemwrites.WorthKeeping(err) { // it is gone meanwhile
		return nil
	}
	return err
}

// WriteLast tries once more to write what is kept, when the operator ends.
func (r *Results) WriteLast(ctx context.Context) {
	namespaceOf := func(name types.NamespacedName) string { return name.Namespace }
	record.Last(ctx, r.Kept.names(), namespaceOf, func(ctx context.Context, name types.NamespacedName) error {
		err := r.WriteAllKept(ctx, name)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to write a kept result before shutdown", "item", name)
		}
		return err
	})
}

// counts reports for how many items something is kept, and how much memory that takes.
func (k *keptResults) counts() (items int, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.items), k.bytes
}
