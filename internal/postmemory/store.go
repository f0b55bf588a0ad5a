// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/share"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

const (
	// itemsOfPage are listed with one request, which costs the API server about as much as that many for one item each.
	itemsOfPage, itemsLikePage = 200, 10
	// readsOfAll are the requests for items that are made at once, each of which may bring 4 MB, and readsAtOnce those for one namespace.
	readsOfAll, readsAtOnce = 16, 8
)

// read reads what was posted at the place: from the FeedMemories, and from the items that are there, but for what is known of other places. What is known
// already, and may not be written yet, stays.
func (m *Memory) read(ctx context.Context, others []posted.Chunk) error {
	const page = 10 // of 50 KB each
	before, active := m.book, maps.Clone(m.reserved)
	maps.DeleteFunc(active, func(_ feed.Key, held Reservation) bool { return !held.active })
	book, elsewhere, versions := posted.New(), posted.New(), map[int64]string{}
	if before != nil {
		book, versions = before, m.versions
	}
	list := &v1alpha1.FeedMemoryList{}
	for {
		err := m.all.Live.List(ctx, list, client.InNamespace(m.Destination.Namespace), client.Limit(page), client.Continue(list.Continue),
			client.MatchingLabels{v1alpha1.LabelDestination: labelOf(m.Destination.Name)})
		if err != nil {
			return fmt.Errorf("read what was posted to FeedDestination %s: %w", m.Destination.Name, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			kept := object.Posted
			if kept == nil || kept.Destination != m.Destination.Name {
				continue
			}
			into := book
			if kept.Server != m.Server || kept.Account != m.Account {
				into = elsewhere
			}
			if err := into.Load(kept.Number, kept.Data); err != nil {
				if err := m.damaged(ctx, object, err); err != nil {
					return err
				}
			} else if into == book {
				versions[kept.Number] = object.ResourceVersion
			}
		}
		if list.Continue == "" {
			break
		}
	}
	for _, chunk := range others {
		if err := elsewhere.Load(chunk.Number, chunk.Data); err != nil {
			return err
		}
	}
	m.book, m.versions = book, versions
	err := m.complete(ctx, elsewhere)
	maps.Copy(m.reserved, active)
	if err != nil {
		m.book = before
		return err
	}
	m.sized()
	return nil
}

// damaged reports an object that cannot be read, and removes it. One that a newer operator has written is left for that.
func (m *Memory) damaged(ctx context.Context, object *v1alpha1.FeedMemory, why error) error {
	log := ctrl.LoggerFrom(ctx)
	if errors.Is(why, posted.ErrNewer) {
		log.Error(why, "FeedMemory was written by a newer version, ignored", "memory", object.Name)
		return nil
	}
	log.Error(why, "FeedMemory is damaged, removed it", "memory", object.Name, "posts", object.Posted.Posts)
	destination := &v1alpha1.FeedDestination{}
	if err := m.all.Client.Get(ctx, m.Destination, destination); err == nil {
		telemetry.MemoryDamaged(m.all.Recorder, destination, object.Name, int(object.Posted.Posts))
	}
	return client.IgnoreNotFound(m.all.Client.Delete(ctx, object, client.Preconditions{UID: &object.UID}))
}

// complete adds what the items say that were posted to the destination, but for what is known of other places; and holds what
// may have been posted.
func (m *Memory) complete(ctx context.Context, elsewhere *posted.Book) error {
	var sources v1alpha1.FeedSourceList
	if err := m.all.Client.List(ctx, &sources, client.InNamespace(m.Destination.Namespace)); err != nil {
		return err
	}
	var described v1alpha1.FeedDestination // as it is: a batch that the cache does not know yet may be under way
	if err := m.all.Live.Get(ctx, m.Destination, &described); client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := m.completeOf(ctx, sources.Items, &described, elsewhere); err != nil {
		return err
	}
	if len(m.book.Unwritten()) > 0 {
		m.schedule(ctx)
	}
	return nil
}

// completeOf does that with the items of some sources.
func (m *Memory) completeOf(ctx context.Context, sources []v1alpha1.FeedSource, described *v1alpha1.FeedDestination, elsewhere *posted.Book) error {
	now := m.all.Clock.Now()
	known := func(source *v1alpha1.FeedSource, item *v1alpha1.FeedItem) bool {
		identity := posted.OfItem(item, derive.FeedOf(source))
		_, here := m.book.Find(identity, now)
		_, there := elsewhere.Find(identity, now)
		return here || there
	}
	var unknown []unknownItems
	for i := range sources {
		source := &sources[i]
		if !source.Delivers(m.Destination.Name) {
			continue
		}
		items, err := itemcache.OfSource(ctx, m.all.Client, source)
		if err != nil {
			return err
		}
		of := unknownItems{source: source, all: len(items)}
		for j := range items {
			item := &items[j]
			row := lifecycle.RowOf(item, m.Destination.Name)
			done := row != nil && row.State == v1alpha1.DeliveryDone
			if done && !known(source, item) || !done && !item.Terminal() { // the cache may be a moment behind
				of.names = append(of.names, client.ObjectKeyFromObject(item))
			}
		}
		unknown = append(unknown, of)
	}
	return m.all.readItems(ctx, unknown, func(source *v1alpha1.FeedSource, item *v1alpha1.FeedItem) {
		row := lifecycle.RowOf(item, m.Destination.Name)
		switch {
		case row == nil:
		case lifecycle.MustLookUp(row):
			m.hold(posted.OfItem(item, derive.FeedOf(source)), item, false, attemptOf(item, row, now))
		case row.State == v1alpha1.DeliveryDone && !known(source, item):
			made := now // also that of a post which is older than is remembered: its item is still there
			if row.Time != nil && now.Sub(row.Time.Time) < posted.KeptFor {
				made = row.Time.Time
			}
			m.book.Remember(posted.OfItem(item, derive.FeedOf(source)), posted.Post{URL: row.URL, Time: made}, now)
		case !row.Ended() && described.HasInBatch(item.UID): // until its batch has its result
			m.hold(posted.OfItem(item, derive.FeedOf(source)), item, true, attemptOf(item, row, now))
		}
	})
}

// unknownItems are items of a source of which the cache does not say enough, of all that it has.
type unknownItems struct {
	source *v1alpha1.FeedSource
	names  []client.ObjectKey
	all    int
}

// listed reports whether all of the source are read, because that takes less than to read those one by one.
func (u unknownItems) listed() bool {
	return len(u.names) > itemsLikePage*(1+u.all/itemsOfPage)
}

// readItems reads items as they are in the API server, several requests at a time: whoever takes over the work of another operator posts nothing before.
// One item after the other is handed on.
func (m *Memories) readItems(ctx context.Context, unknown []unknownItems, each func(*v1alpha1.FeedSource, *v1alpha1.FeedItem)) error {
	var one sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for _, of := range unknown {
		take := func(items ...v1alpha1.FeedItem) {
			one.Lock()
			defer one.Unlock()
			for i := range items {
				if items[i].Spec.SourceRef.UID == of.source.UID {
					each(of.source, &items[i])
				}
			}
		}
		if of.listed() {
			group.Go(func() error { return m.listItems(ctx, of.source, take) })
			continue
		}
		for _, name := range of.names {
			group.Go(func() error { return m.readItem(ctx, name, take) })
		}
	}
	return group.Wait()
}

// listItems reads all items of a source.
func (m *Memories) listItems(ctx context.Context, source *v1alpha1.FeedSource, take func(...v1alpha1.FeedItem)) error {
	list := &v1alpha1.FeedItemList{}
	for {
		err := m.inTurn(ctx, source.Namespace, func() error {
			return m.Live.List(ctx, list, client.InNamespace(source.Namespace), client.Limit(itemsOfPage), client.Continue(list.Continue),
				client.MatchingFields{"spec.sourceRef.name": source.Name})
		})
		if err != nil {
			return err
		}
		take(list.Items...)
		if list.Continue == "" {
			return nil
		}
	}
}

// readItem reads one item, where it is still there.
func (m *Memories) readItem(ctx context.Context, name client.ObjectKey, take func(...v1alpha1.FeedItem)) error {
	var item v1alpha1.FeedItem
	err := m.inTurn(ctx, name.Namespace, func() error { return m.Live.Get(ctx, name, &item) })
	if err == nil {
		take(item)
	}
	return client.IgnoreNotFound(err)
}

// inTurn makes a request for items when there is a place for one of a namespace.
func (m *Memories) inTurn(ctx context.Context, namespace string, request func() error) error {
	m.mu.Lock()
	if m.reads == nil {
		m.reads = share.New(readsOfAll, readsAtOnce)
	}
	reads := m.reads
	m.mu.Unlock()
	leave, err := reads.Take(ctx, namespace, math.MaxInt64)
	if err != nil {
		return err
	}
	defer leave()
	return request()
}

// rowOf reads the delivery of an item to a destination; nil where the item is gone.
func (m *Memories) rowOf(ctx context.Context, held Reservation, destination string) (*v1alpha1.Delivery, error) {
	var item v1alpha1.FeedItem
	if err := m.Live.Get(ctx, held.Item, &item); err != nil || item.UID != held.UID {
		return nil, client.IgnoreNotFound(err)
	}
	return lifecycle.RowOf(&item, destination), nil
}

// isKept reports whether a chunk is there.
func (m *Memory) isKept(ctx context.Context, number int64) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedMemory"))
	err := m.all.Live.Get(ctx, client.ObjectKey{Namespace: m.Destination.Namespace, Name: m.nameOf(number)}, object)
	return err == nil, client.IgnoreNotFound(err)
}

// forget drops a chunk that was deleted.
func (m *Memory) forget(ctx context.Context, number int64) {
	ctrl.LoggerFrom(ctx).Info("Forgot the posts of a deleted FeedMemory", "memory", m.nameOf(number), "destination", m.Destination)
	if m.book != nil { // else it is read again
		m.book.Forget(number)
		delete(m.versions, number)
	}
}
