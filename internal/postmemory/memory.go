// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postmemory is what destinations remember of what was posted to them: read from FeedMemories and items when it is first asked for,
// written once a minute, and bounded in time, number and memory. The compact form is that of package posted.
//
// It knows entries, posts and who is at one of them now. It must never know how a post is made, or whether one is to be made again.
package postmemory

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/share"
)

// MostPosts is how many posts are in memory at most, of all destinations: about 60 MB. What is left out is read again, from objects of
// 1 MB at most, when somebody asks.
const MostPosts = 250_000

// Target is where posts go: what was posted by another account, or to another server, says nothing of it.
type Target struct {
	// Destination is the FeedDestination.
	Destination types.NamespacedName
	Server      string
	Account     string
	// uid is that of the FeedDestination, where it is known: one of the same name may come after it, with what was restored from a backup.
	uid types.UID
}

// Memories know what was posted to the destinations. An entry of a feed is posted to one of them once, also by the items
// of a source that was deleted and applied again.
//
// What is known is in memory, and is written to FeedMemories a minute later; what a crash cuts off there is found on the
// items, which say where they were posted. Nothing is decided before both were read.
type Memories struct {
	Clock    clock.WithDelayedExecution
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
	// Namespaces are those that the operator works in; none means all.
	Namespaces []string
	// Synced waits until the cache has everything.
	Synced func(context.Context) bool
	// Most is how many posts are in memory at most.
	Most int64

	// posts is how many are in memory.
	posts atomic.Int64

	// mu is taken by who holds the lock of a Memory, too. So who holds it waits for none of those.
	mu    sync.Mutex
	known map[Target]*Memory
	// reads are the places for requests for items.
	reads *share.Places
	// stopping is set once the operator stops: from then on everything is written at once.
	stopping bool
}

// Memory is what was posted at one place, and what is being posted there.
type Memory struct {
	Target
	all *Memories

	mu sync.Mutex
	// book is nil until it was read.
	book *posted.Book
	// readFor is the FeedDestination for which it was read last.
	readFor types.UID
	// versions are those of the objects that the chunks of the book are kept in, by number.
	versions map[int64]string
	// reserved has, by what an entry is known by, the item that posts it now, or may have posted it.
	reserved map[feed.Key]Reservation
	// due is set while a write is to come.
	due bool
	// refused is set if the last write was not taken.
	refused bool
	// gone is set if it was left out of memory: what is held in it, nobody sees.
	gone bool
	// used is when somebody asked last, under the lock of all.
	used time.Time
	// size is how many posts it has.
	size int64

	writing sync.Mutex
	// hurries is set while a write is made before its time.
	hurries atomic.Bool
}

// Reservation is an entry that an item posts. Active means that this process is at it.
type Reservation struct {
	Item   types.NamespacedName
	UID    types.UID
	active bool
	// identity is that of the entry.
	identity posted.Identity
	Attempt
	// Gone is set if the item is gone, so that nobody else will find out whether it was posted.
	Gone bool
}

// TargetOf is where a destination posts, by what its server has said of itself; it returns false where that was not asked for its account
// yet. A webhook is what it is by the name of its FeedDestination: its URL may be a secret, and changes when that is replaced.
func TargetOf(described *v1alpha1.FeedDestination, server *v1alpha1.DestinationServer) (Target, bool) {
	to := Target{Destination: client.ObjectKeyFromObject(described), uid: described.UID}
	switch {
	case described.Spec.Webhook != nil:
		to.Server = "webhook"
	case server == nil:
		return Target{}, false
	default:
		to.Server, to.Account = feed.CanonicalURL(described.Spec.Mastodon.Server), server.Account
	}
	return to, true
}

// Attempt is how an entry may have been posted: since when, with which text, and from when on its post can be looked for.
type Attempt struct {
	Since, Settled time.Time
	TextHash       string
}

// attemptOf is what an item says of a post that may have been made.
func attemptOf(item *v1alpha1.FeedItem, row *v1alpha1.Delivery, now time.Time) Attempt {
	as := Attempt{Since: lifecycle.AttemptedSince(item, row, now), TextHash: row.TextHash}
	if row.NotAfter != nil {
		as.Settled = row.NotAfter.Add(lifecycle.SettleTime)
	}
	return as
}

// At returns the memory of a place, read. An error is the API server's.
func (m *Memories) At(ctx context.Context, where Target) (*Memory, error) {
	uid := where.uid
	where.uid = "" // what was posted there counts whatever destination it was
	m.mu.Lock()
	memory := m.known[where]
	if memory == nil {
		memory = &Memory{Target: where, all: m, reserved: map[feed.Key]Reservation{}}
		if m.known == nil {
			m.known = map[Target]*Memory{}
		}
		m.known[where] = memory
	}
	memory.used = m.Clock.Now()
	m.mu.Unlock()
	if m.posts.Load() > m.Most {
		m.evictThose(ctx, func(other *Memory) bool { return m.posts.Load() > m.Most && other != memory })
	}
	return memory, memory.load(ctx, uid)
}

// load reads the memory if it was not yet, and once more for a destination that has taken the place of another one: FeedMemories of a backup may have come
// with it.
func (m *Memory) load(ctx context.Context, uid types.UID) error {
	m.mu.Lock()
	isRead := m.isRead(uid)
	m.mu.Unlock()
	if isRead {
		return nil
	}
	others := m.all.unwrittenElsewhere(m.Target) // with no lock held: two places may be read at once
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isRead(uid) {
		return nil
	}
	if err := m.read(ctx, others); err != nil {
		return err
	}
	if uid != "" {
		m.readFor = uid
	}
	return nil
}

func (m *Memory) isRead(uid types.UID) bool { return m.book != nil && (uid == "" || uid == m.readFor) }

// unwrittenElsewhere returns what the same destination has posted at other places, and is not written yet: the items say that it was
// posted, and not where.
func (m *Memories) unwrittenElsewhere(here Target) (chunks []posted.Chunk) {
	var others []*Memory
	m.mu.Lock()
	for where, memory := range m.known {
		if where.Destination == here.Destination && where != here {
			others = append(others, memory)
		}
	}
	m.mu.Unlock()
	for _, other := range others {
		other.mu.Lock()
		if other.book != nil {
			chunks = append(chunks, other.book.Unwritten()...)
		}
		other.mu.Unlock()
	}
	return chunks
}

// sized notes how many posts it has. One that was left out meanwhile takes no room: whoever still has it does not keep it.
func (m *Memory) sized() {
	if m.gone {
		return
	}
	size := int64(m.book.Len())
	m.all.posts.Add(size - m.size)
	m.size = size
}

// evictThose leaves some out of memory, those first for which nobody has asked longest.
func (m *Memories) evictThose(ctx context.Context, which func(*Memory) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest := slices.SortedFunc(maps.Values(m.known), func(a, b *Memory) int { return a.used.Compare(b.used) })
	for _, memory := range oldest {
		if which(memory) && memory.evict(ctx) {
			delete(m.known, memory.Target)
		}
	}
}

// evict marks the memory as left out, unless something is being posted or to be written, or it is just being read.
func (m *Memory) evict(ctx context.Context) bool {
	if !m.writing.TryLock() {
		return false
	}
	defer m.writing.Unlock()
	if !m.mu.TryLock() {
		return false
	}
	defer m.mu.Unlock()
	for _, held := range m.reserved {
		if held.active {
			return false
		}
	}
	if m.due {
		return false
	}
	m.all.posts.Add(-m.size)
	m.size = 0
	if m.keepDoubts(ctx) { // the book is read again when somebody asks
		m.book, m.versions = nil, nil
		return false
	}
	m.gone = true
	return true
}

// mostDoubts is how many entries of items that are gone are held at a place while it is not in memory otherwise: 300 KB.
const mostDoubts = 1000

// keepDoubts gives up what items hold that have ended, and reports whether anything is left: of an item that is gone nobody else knows it.
func (m *Memory) keepDoubts(ctx context.Context) bool {
	now := m.all.Clock.Now()
	maps.DeleteFunc(m.reserved, func(_ feed.Key, held Reservation) bool {
		var item v1alpha1.FeedItem
		err := m.all.Client.Get(ctx, held.Item, &item) // from the cache
		ended := err == nil && item.UID == held.UID && item.Terminal()
		return ended || now.Sub(held.Since) > posted.KeptFor || len(m.reserved) > mostDoubts
	})
	return len(m.reserved) > 0
}

// Find returns the post of an entry. Where the object that it is kept in was deleted, which is how a person has the operator
// forget, it is forgotten.
func (m *Memory) Find(ctx context.Context, identity posted.Identity) (posted.Post, bool, error) {
	for {
		if err := m.load(ctx, ""); err != nil {
			return posted.Post{}, false, err
		}
		m.mu.Lock()
		if m.book == nil { // it was left out again
			m.mu.Unlock()
			continue
		}
		now := m.all.Clock.Now()
		post, found := m.book.Find(identity, now)
		number, kept := m.book.ChunkOf(identity, now)
		m.mu.Unlock()
		if !found || !kept {
			return post, found, nil
		}
		there, err := m.isKept(ctx, number)
		if err != nil || there {
			return post, there, err
		}
		m.mu.Lock()
		m.forget(ctx, number)
		m.mu.Unlock()
	}
}

// Holder returns the item that posts the entry now, or may have posted it, if that is another one than this.
func (m *Memory) Holder(ctx context.Context, identity posted.Identity, item *v1alpha1.FeedItem) (Reservation, bool, error) {
	for {
		m.mu.Lock()
		held, found := m.heldByOther(identity, item)
		m.mu.Unlock()
		if !found || held.active {
			return held, found, nil
		}
		row, err := m.all.rowOf(ctx, held, m.Destination.Name)
		held.Gone = err == nil && row == nil
		if err != nil || held.Gone || lifecycle.MustLookUp(row) {
			return held, true, err
		}
		if row.State == v1alpha1.DeliveryDone { // another operator has noted that
			m.Remember(ctx, held.UID, identity, row.URL)
		}
		m.CancelReservation(held.UID)
	}
}

func (m *Memory) heldByOther(identity posted.Identity, item *v1alpha1.FeedItem) (Reservation, bool) {
	for _, key := range identity.Telling() {
		if held, found := m.reserved[key]; found && held.UID != item.UID {
			return held, true
		}
	}
	return Reservation{}, false
}

// Reserve keeps an entry for an item that is about to post it. It returns false where another item holds the entry, or it was
// posted; then the post is returned.
func (m *Memory) Reserve(identity posted.Identity, item *v1alpha1.FeedItem, as Attempt) (before *posted.Post, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone || m.book == nil { // it is read again when the item is looked at again
		return nil, false
	}
	if post, found := m.book.Find(identity, m.all.Clock.Now()); found {
		return &post, false
	}
	if _, held := m.heldByOther(identity, item); held {
		return nil, false
	}
	m.hold(identity, item, true, as)
	return nil, true
}

func (m *Memory) hold(identity posted.Identity, item *v1alpha1.FeedItem, active bool, as Attempt) {
	for _, key := range identity.Telling() {
		m.reserved[key] = Reservation{Item: client.ObjectKeyFromObject(item), UID: item.UID, active: active, identity: identity, Attempt: as}
	}
}

// MarkIdle notes that this process is not at a post any more, of which nobody knows yet whether it was made.
func (m *Memory) MarkIdle(item types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, held := range m.reserved {
		if held.UID == item {
			held.active = false
			m.reserved[key] = held
		}
	}
}

// CancelReservation gives up what an item holds: it has not posted, and does not post now.
func (m *Memory) CancelReservation(item types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(item)
}

func (m *Memory) drop(item types.UID) {
	maps.DeleteFunc(m.reserved, func(_ feed.Key, held Reservation) bool { return held.UID == item })
}

// RememberHeld notes a post of an item that is gone, by the entry that it holds.
func (m *Memory) RememberHeld(ctx context.Context, item types.UID, url string) {
	m.mu.Lock()
	var of *posted.Identity
	for _, held := range m.reserved {
		if held.UID == item {
			of = &held.identity
			break
		}
	}
	m.mu.Unlock()
	if of != nil {
		m.Remember(ctx, item, *of, url)
	}
}

// Remember notes a post of an item, and has it written within the minute.
func (m *Memory) Remember(ctx context.Context, item types.UID, identity posted.Identity, url string) {
	m.mu.Lock()
	if m.gone || m.book == nil {
		m.mu.Unlock()
		if again, err := m.all.At(context.WithoutCancel(ctx), m.Target); err == nil { // else its item says it, when it is read
			again.Remember(ctx, item, identity, url)
		}
		return
	}
	now := m.all.Clock.Now()
	m.book.Remember(identity, posted.Post{URL: url, Time: now}, now)
	m.sized()
	m.drop(item)
	m.mu.Unlock()
	m.writeLater(ctx)
}
