// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

const (
	// postedWrites is how much time lies between two writes of what was posted at a place.
	postedWrites = time.Minute
	// unusedMemory is after how long what is not asked for is not kept in memory any more: 5 MB with 20,000 posts.
	unusedMemory = time.Hour
	// mostPosts is how many posts are in memory at most, of all destinations: about 60 MB. What is left out is read again, from objects of
	// 1 MB at most, when somebody asks.
	mostPosts = 250_000
	// keptInMemory is of how many destinations it is kept at a start before somebody asks.
	keptInMemory = 8
	// expiryInterval is how often FeedMemories are removed whose posts are all too old.
	expiryInterval = time.Hour
	// mostMemories is how many FeedMemories a destination may have: those of the account that posts, and as many of others. Who the account is
	// says the server, which may say another each time.
	mostMemories = 2 * posted.MostChunks
	// itemsAtOnce is how many items are read one by one; of more, all of their source are listed.
	itemsAtOnce = 100
)

// read reads what was posted at the place: from the FeedMemories, and from the items that are there.
func (m *postedMemory) read(ctx context.Context) error {
	const page = 10 // of 50 KB each
	book, elsewhere, versions := posted.New(), posted.New(), map[int64]string{}
	list := &v1alpha1.FeedMemoryList{}
	for {
		err := m.all.Live.List(ctx, list, client.InNamespace(m.destination.Namespace), client.Limit(page), client.Continue(list.Continue),
			client.MatchingLabels{v1alpha1.LabelDestination: labelOf(m.destination.Name)})
		if err != nil {
			return fmt.Errorf("read what was posted to FeedDestination %s: %w", m.destination.Name, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			kept := object.Posted
			if kept == nil || kept.Destination != m.destination.Name {
				continue
			}
			into := book
			if kept.Server != m.server || kept.Account != m.account {
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
	m.book, m.versions = book, versions
	if err := m.complete(ctx, elsewhere); err != nil {
		m.book = nil
		return err
	}
	m.sized()
	return nil
}

// damaged tells of an object that cannot be read, and removes it. One that a newer operator has written is left for that.
func (m *postedMemory) damaged(ctx context.Context, object *v1alpha1.FeedMemory, why error) error {
	log := ctrl.LoggerFrom(ctx)
	if errors.Is(why, posted.ErrNewer) {
		log.Error(why, "The FeedMemory of what was posted is not used", "memory", object.Name)
		return nil
	}
	log.Error(why, "The FeedMemory of what was posted is damaged and is forgotten", "memory", object.Name, "posts", object.Posted.Posts)
	destination := &v1alpha1.FeedDestination{}
	if err := m.all.Client.Get(ctx, m.destination, destination); err == nil {
		telemetry.MemoryDamaged(m.all.Recorder, destination, object.Name, int(object.Posted.Posts))
	}
	return client.IgnoreNotFound(m.all.Client.Delete(ctx, object, client.Preconditions{UID: &object.UID}))
}

// complete adds what the items say that were posted to the destination, but for what is known of other places; and holds what
// may have been posted.
func (m *postedMemory) complete(ctx context.Context, elsewhere *posted.Book) error {
	var sources v1alpha1.FeedSourceList
	if err := m.all.Client.List(ctx, &sources, client.InNamespace(m.destination.Namespace)); err != nil {
		return err
	}
	for i := range sources.Items {
		source := &sources.Items[i]
		if !source.Delivers(m.destination.Name) {
			continue
		}
		items, err := itemsOf(ctx, m.all.Client, source)
		if err != nil {
			return err
		}
		now := m.all.Clock.Now()
		known := func(item *v1alpha1.FeedItem) bool {
			identity := posted.OfItem(item, derive.FeedOf(source))
			_, here := m.book.Find(identity, now)
			_, there := elsewhere.Find(identity, now)
			return here || there
		}
		var unknown []client.ObjectKey
		for j := range items {
			item := &items[j]
			row := lifecycle.RowOf(item, m.destination.Name)
			done := row != nil && row.State == v1alpha1.DeliveryDone
			if done && !known(item) || !done && !item.Terminal() { // the cache may be a moment behind
				unknown = append(unknown, client.ObjectKeyFromObject(item))
			}
		}
		err = m.all.readItems(ctx, source, unknown, func(item *v1alpha1.FeedItem) {
			row := lifecycle.RowOf(item, m.destination.Name)
			switch {
			case row == nil:
			case lifecycle.MustLook(row):
				m.hold(posted.OfItem(item, derive.FeedOf(source)), item, false, attemptOf(item, row, now))
			case row.State == v1alpha1.DeliveryDone && !known(item):
				made := now // also that of a post which is older than is remembered: its item is still there
				if row.Time != nil && now.Sub(row.Time.Time) < posted.KeptFor {
					made = row.Time.Time
				}
				m.book.Remember(posted.OfItem(item, derive.FeedOf(source)), posted.Post{URL: row.URL, Time: made}, now)
			}
		})
		if err != nil {
			return err
		}
	}
	if len(m.book.Unwritten()) > 0 {
		m.schedule(ctx)
	}
	return nil
}

// readItems reads items of a source, or all of it where there are many.
func (m *postedMemories) readItems(ctx context.Context, source *v1alpha1.FeedSource, names []client.ObjectKey, each func(*v1alpha1.FeedItem)) error {
	const page = 200
	if len(names) > itemsAtOnce {
		list := &v1alpha1.FeedItemList{}
		for {
			err := m.Live.List(ctx, list, client.InNamespace(source.Namespace), client.Limit(page), client.Continue(list.Continue),
				client.MatchingFields{"spec.sourceRef.name": source.Name})
			if err != nil {
				return err
			}
			for i := range list.Items {
				if list.Items[i].Spec.SourceRef.UID == source.UID {
					each(&list.Items[i])
				}
			}
			if list.Continue == "" {
				return nil
			}
		}
	}
	for _, name := range names {
		var item v1alpha1.FeedItem
		switch err := m.Live.Get(ctx, name, &item); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		default:
			each(&item)
		}
	}
	return nil
}

// rowOf reads the delivery of an item to a destination; nil where the item is gone.
func (m *postedMemories) rowOf(ctx context.Context, held reservation, destination string) (*v1alpha1.Delivery, error) {
	var item v1alpha1.FeedItem
	if err := m.Live.Get(ctx, held.item, &item); err != nil || item.UID != held.uid {
		return nil, client.IgnoreNotFound(err)
	}
	return lifecycle.RowOf(&item, destination), nil
}

// isKept says whether a chunk is there.
func (m *postedMemory) isKept(ctx context.Context, number int64) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedMemory"))
	err := m.all.Live.Get(ctx, client.ObjectKey{Namespace: m.destination.Namespace, Name: m.nameOf(number)}, object)
	return err == nil, client.IgnoreNotFound(err)
}

// forget drops a chunk that was deleted.
func (m *postedMemory) forget(ctx context.Context, number int64) {
	ctrl.LoggerFrom(ctx).Info("Posts forgotten whose FeedMemory was deleted", "memory", m.nameOf(number), "destination", m.destination)
	m.book.Forget(number)
	delete(m.versions, number)
}

// writeLater has what was posted written, a minute after the first post that is not: at once when the operator stops.
func (m *postedMemory) writeLater(ctx context.Context) {
	if m.all.isStopping() {
		m.write(ctx)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.schedule(ctx)
}

func (m *postedMemory) schedule(ctx context.Context) {
	if m.due {
		return
	}
	m.due = true
	ctx = context.WithoutCancel(ctx)
	// In a goroutine of its own, because a fake clock calls back while it holds its lock.
	m.all.Clock.AfterFunc(postedWrites, func() {
		go func() {
			if !m.all.isStopping() { // then it was written, or is the next operator's to find out
				m.write(ctx)
			}
		}()
	})
}

func (m *postedMemories) isStopping() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopping
}

// write writes what is to be written. What fails is written with the next try, a minute later.
func (m *postedMemory) write(ctx context.Context) {
	m.writing.Lock()
	defer m.writing.Unlock()
	ctx, cancel := recording(ctx)
	defer cancel()
	m.mu.Lock()
	m.due = false
	if m.book == nil { // it could not be read
		m.mu.Unlock()
		return
	}
	var surplus []int64
	if clocksApart(m.all.Clock) <= mostApart { // else nobody can say how old a post is
		surplus = m.book.Drop(m.all.Clock.Now())
	}
	chunks := m.book.Unwritten()
	m.sized()
	m.mu.Unlock()
	var failed error
	for _, number := range surplus {
		object := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{Namespace: m.destination.Namespace, Name: m.nameOf(number)}}
		failed = errors.Join(failed, client.IgnoreNotFound(m.all.Client.Delete(ctx, object)))
	}
	for _, chunk := range chunks {
		failed = errors.Join(failed, m.put(ctx, chunk))
	}
	if failed != nil {
		ctrl.LoggerFrom(ctx).Error(failed, "What was posted could not be written down; it is tried again", "destination", m.destination)
		m.mu.Lock()
		m.schedule(ctx)
		m.mu.Unlock()
	}
}

// put writes one chunk. What somebody else has written into it meanwhile is kept.
func (m *postedMemory) put(ctx context.Context, chunk posted.Chunk) error {
	const tries = 5
	var err error
	for range tries {
		m.mu.Lock()
		object := m.objectOf(chunk)
		m.mu.Unlock()
		if object.ResourceVersion == "" {
			err = m.all.Client.Create(ctx, object)
		} else {
			err = m.all.Client.Update(ctx, object)
		}
		m.mu.Lock()
		switch {
		case err == nil:
			m.versions[chunk.Number] = object.ResourceVersion
			m.book.Wrote(chunk)
			m.mu.Unlock()
			return nil
		case apierrors.IsNotFound(err):
			m.forget(ctx, chunk.Number)
			err = nil
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
			m.mu.Unlock()
			err = m.merge(ctx, chunk.Number)
			m.mu.Lock()
		}
		again, due := m.unwritten(chunk.Number)
		m.mu.Unlock()
		if err != nil || !due {
			return err
		}
		chunk = again
	}
	return fmt.Errorf("others write into %s all the time", m.nameOf(chunk.Number))
}

// merge reads a chunk that somebody else has written.
func (m *postedMemory) merge(ctx context.Context, number int64) error {
	object := &v1alpha1.FeedMemory{}
	if err := m.all.Live.Get(ctx, client.ObjectKey{Namespace: m.destination.Namespace, Name: m.nameOf(number)}, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[number] = object.ResourceVersion
	if object.Posted == nil {
		return nil
	}
	if err := m.book.Load(number, object.Posted.Data); err != nil { // it is written over
		ctrl.LoggerFrom(ctx).Error(err, "The FeedMemory of what was posted is damaged", "memory", object.Name)
	}
	return nil
}

func (m *postedMemory) unwritten(number int64) (posted.Chunk, bool) {
	for _, chunk := range m.book.Unwritten() {
		if chunk.Number == number {
			return chunk, true
		}
	}
	return posted.Chunk{}, false
}

func (m *postedMemory) objectOf(chunk posted.Chunk) *v1alpha1.FeedMemory {
	return &v1alpha1.FeedMemory{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       m.destination.Namespace,
			Name:            m.nameOf(chunk.Number),
			ResourceVersion: m.versions[chunk.Number],
			Labels:          map[string]string{v1alpha1.LabelDestination: labelOf(m.destination.Name)},
			Annotations:     map[string]string{v1alpha1.AnnotationForgetAfter: chunk.Latest.Add(posted.KeptFor).UTC().Format(time.RFC3339)},
		},
		Posted: &v1alpha1.PostedMemory{
			Destination: m.destination.Name, Server: m.server, Account: m.account,
			Number: chunk.Number, Posts: bounded(chunk.Posts), Data: chunk.Data,
		},
	}
}

// nameOf is the name of the object that has a chunk.
func (m *postedMemory) nameOf(number int64) string {
	const longest, hashLength = 200, 10
	sum := sha256.Sum256([]byte(m.destination.Name + "\n" + m.server + "\n" + m.account))
	prefix := strings.TrimRight(m.destination.Name[:min(len(m.destination.Name), longest)], "-.")
	return fmt.Sprintf("%s-posted-%s-%d", prefix, hex.EncodeToString(sum[:])[:hashLength], number)
}

// labelOf is the name of a destination as the value of a label.
func labelOf(destination string) string {
	const longest, hashLength = 63, 10
	if len(destination) <= longest {
		return destination
	}
	sum := sha256.Sum256([]byte(destination))
	return strings.TrimRight(destination[:longest-hashLength-1], "-.") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feedmemories,verbs=get;list;create;update;delete

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (m *postedMemories) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable: it removes what is too old, and when the operator stops writes what is not written.
//
// First it reads what was posted to each destination, as long as the items are there that say what a crash has cut off.
func (m *postedMemories) Start(ctx context.Context) error {
	if !m.Synced(ctx) {
		return ctx.Err()
	}
	if err := m.readAll(ctx); err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Error(err, "What was posted could not be read; it is tried again with the next item")
	}
	for {
		if err := m.expire(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Memories of old posts could not be removed; it is tried again in an hour")
		}
		select {
		case <-m.Clock.After(expiryInterval):
		case <-ctx.Done():
			for _, memory := range m.stop() {
				memory.write(ctx)
			}
			return nil
		}
	}
}

// readAll reads what was posted to each destination, one after the other, and keeps what is to be written.
func (m *postedMemories) readAll(ctx context.Context) error {
	var destinations v1alpha1.FeedDestinationList
	if err := m.Client.List(ctx, &destinations); err != nil {
		return err
	}
	var failed error
	for i := range destinations.Items {
		described := &destinations.Items[i]
		where, known := targetOf(described, nil)
		if !known || described.Status.ObservedGeneration != described.Generation { // the account may be another server's
			continue
		}
		memory, err := m.at(ctx, where)
		failed = errors.Join(failed, err)
		m.mu.Lock()
		if err == nil && len(m.known) > keptInMemory && memory.leave() {
			delete(m.known, where)
		}
		m.mu.Unlock()
	}
	return failed
}

// writeNow has what was posted at the destinations of a namespace written at once: an item of it is gone, or a source goes, and with
// them what else says so.
func (m *postedMemories) writeNow(ctx context.Context, namespace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	for where, memory := range m.known {
		if where.destination.Namespace == namespace && memory.waits() && memory.hurries.CompareAndSwap(false, true) {
			go func() {
				defer memory.hurries.Store(false)
				memory.write(ctx)
			}()
		}
	}
}

// writeAsItemsGo has writeNow called whenever items go.
func (m *postedMemories) writeAsItemsGo(ctx context.Context, items cache.Cache) error {
	informer, err := items.GetInformer(ctx, &v1alpha1.FeedItem{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if name, err := toolscache.DeletionHandlingObjectToName(object); err == nil {
			m.writeNow(ctx, name.Namespace)
		}
	}})
	return err
}

// waits says that something is to be written, as far as that can be said at once.
func (m *postedMemory) waits() bool {
	if !m.mu.TryLock() { // it is being read, or somebody is at it for a moment
		return true
	}
	defer m.mu.Unlock()
	return m.due
}

// stop has everything written at once from now on, and returns what is to be written.
func (m *postedMemories) stop() (due []*postedMemory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopping = true
	for _, memory := range m.known {
		memory.mu.Lock()
		if memory.due {
			due = append(due, memory)
		}
		memory.mu.Unlock()
	}
	return due
}

// expire removes the FeedMemories of which all posts are too old, also those of destinations that are gone, and the oldest where one
// destination has too many. One that is
// written meanwhile is another version, which stays. What nobody has asked for lately is read again when somebody does.
func (m *postedMemories) expire(ctx context.Context) error {
	m.rest()
	if apart := clocksApart(m.Clock); apart > mostApart {
		ctrl.LoggerFrom(ctx).Info("No memory is removed while the API server's clock and this machine's are so far apart: one of them is wrong", "apart", apart)
		return nil
	}
	namespaces := m.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""} // all
	}
	const page = 500
	var failed error
	kept := map[client.ObjectKey][]*metav1.PartialObjectMetadata{}
	for _, namespace := range namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedMemoryList"))
		for {
			err := m.Live.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelDestination},
				client.Limit(page), client.Continue(list.Continue))
			if err != nil {
				return errors.Join(failed, err)
			}
			for i := range list.Items {
				found := list.Items[i].DeepCopy() // the next page takes the place of this one
				if !forgetAfter(found).After(m.Clock.Now()) {
					failed = errors.Join(failed, m.discard(ctx, found))
					continue
				}
				of := client.ObjectKey{Namespace: found.Namespace, Name: found.Labels[v1alpha1.LabelDestination]}
				kept[of] = append(kept[of], found)
			}
			if list.Continue == "" {
				break
			}
		}
	}
	for _, memories := range kept {
		slices.SortFunc(memories, func(a, b *metav1.PartialObjectMetadata) int { return forgetAfter(a).Compare(forgetAfter(b)) })
		for _, surplus := range memories[:max(0, len(memories)-mostMemories)] {
			failed = errors.Join(failed, m.discard(ctx, surplus))
		}
	}
	return failed
}

// forgetAfter is when all posts of a FeedMemory are too old.
func forgetAfter(found *metav1.PartialObjectMetadata) time.Time {
	after, err := time.Parse(time.RFC3339, found.Annotations[v1alpha1.AnnotationForgetAfter])
	if err != nil { // somebody has edited it; the next write sets it right
		return found.CreationTimestamp.Add(posted.KeptFor)
	}
	return after
}

// discard removes a FeedMemory, if it is still as it was found.
func (m *postedMemories) discard(ctx context.Context, found *metav1.PartialObjectMetadata) error {
	object := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name}}
	err := m.Client.Delete(ctx, object, client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Posts forgotten that are too old", "memory", client.ObjectKeyFromObject(object))
	}
	return err
}

// rest lets go of what nobody has asked for lately.
func (m *postedMemories) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for where, memory := range m.known {
		if m.Clock.Now().Sub(memory.used) >= unusedMemory && memory.leave() {
			delete(m.known, where)
		}
	}
}
