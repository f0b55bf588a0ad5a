// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/seen"
)

// validators tell whether a feed has changed since it was read last.
type validators struct {
	urlHash, etag, lastModified, bodyHash string
	// ttl is for how long the document asks to be kept. It is in the document only, and so must be
	// remembered while that stays as it is.
	ttl time.Duration
}

// match says whether an answer with a body is the one that was read before: some servers have no
// validators.
func (v validators) match(answer validators) bool {
	return v.urlHash == answer.urlHash && v.bodyHash == answer.bodyHash
}

// memory is what is remembered of a source, during one poll.
type memory struct {
	// validators of the last answer that was taken.
	validators validators
	// answer of this poll.
	answer validators
	// sent is what the server of the answer was sent that is not to be shown.
	sent *redact.Sent
	// object in the API server, nil while it was not read, and the archive of a memory that has grown.
	object  *v1alpha1.FeedMemory
	archive v1alpha1.FeedMemory
	data    v1alpha1.FeedMemoryData
	book    *seen.Memory
	// complete is set once the memory holds the identities of all items that there are.
	complete bool
	// listed is set once the document of this poll was found to list entries.
	listed bool
	// lost is set when there should be a memory and there is none.
	lost bool
	// emptySince is when the URL of the memory was read first, as long as no entry was found there; zero once one was.
	emptySince time.Time
}

// recall returns what decides about the request for the feed: the validators that this process
// knows, or else those in the API server.
func (r *FeedSourceReconciler) recall(ctx context.Context, source *v1alpha1.FeedSource, watch *watchedSource) (*memory, error) {
	memory := &memory{complete: watch.complete}
	if watch.validators != nil {
		memory.validators = *watch.validators
	} else if err := memory.load(ctx, r.Live, source); err != nil {
		return nil, err
	}
	// Entries that wait in the feed can become items now: it is read again, also if it has not changed.
	// While there is no room, that would only find the same.
	room := watch.held && r.mayCreate(source, watch)
	anotherFeed := memory.validators.urlHash != urlHash(source.Spec.URL)
	neverReported := source.Status.Format == "" // the last answer was taken, and its status was not
	if anotherFeed || neverReported || room {
		memory.validators = validators{}
	}
	return memory, nil
}

// load reads the memory from the API server, once.
func (m *memory) load(ctx context.Context, live client.Reader, source *v1alpha1.FeedSource) error {
	if m.object != nil {
		return nil
	}
	var object v1alpha1.FeedMemory
	err := live.Get(ctx, client.ObjectKey{Namespace: source.Namespace, Name: memoryName(source)}, &object)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	archived, err := m.loadArchive(ctx, live, &object)
	if err != nil {
		return err
	}
	book, corrupt := seen.LoadParts(object.Data, m.archive.Data)
	if corrupt != nil {
		ctrl.LoggerFrom(ctx).Error(corrupt, "The FeedMemory cannot be read and is begun anew", "memory", object.Name)
		object.Data, m.archive.Data = v1alpha1.FeedMemoryData{}, v1alpha1.FeedMemoryData{}
		if book, err = seen.Load(object.Data); err != nil {
			return err
		}
	}
	m.object, m.data, m.book = &object, object.Data, book
	m.lost = (m.data.URLHash == "" || !archived) && source.Status.LastSuccessTime != nil
	switch {
	case m.data.EmptySince != nil:
		m.emptySince = m.data.EmptySince.Time
	case m.data.URLHash != "" && book.Empty(): // written by a version that did not note it: that was with the first poll
		m.emptySince = object.CreationTimestamp.Time
	}
	m.validators = validators{
		urlHash: m.data.URLHash, etag: m.data.ETag, lastModified: m.data.LastModified, bodyHash: m.data.BodyHash,
		ttl: time.Duration(m.data.TTLMinutes) * time.Minute,
	}
	return nil
}

// firstPoll says whether this URL has not been polled before.
func (m *memory) firstPoll() bool { return m.data.URLHash != m.answer.urlHash }

// first bounds what becomes items where nothing was found at this URL before. Begun is how many items an earlier try of
// this poll has made.
func (m *memory) first(source *v1alpha1.FeedSource, begun int, now time.Time) polling.First {
	first := polling.First{Poll: true, Items: max(source.InitialItems()-begun, 0)}
	if !believable.Past(m.emptySince, now) { // it was with the first poll, or later
		m.emptySince = m.object.CreationTimestamp.Time
	}
	if !m.firstPoll() {
		first.Poll, first.Since = !m.emptySince.IsZero(), m.emptySince
	}
	return first
}

// remember notes what was seen: all that the document lists, but what waits for room.
func (m *memory) remember(entries []feed.Entry, plan polling.Plan) {
	m.listed = len(entries) > 0
	if plan.Held == 0 {
		m.book.RememberListed()
		return
	}
	m.book.RememberKnown()
	for _, list := range [][]feed.Entry{plan.Remember, plan.Create} {
		for _, entry := range list {
			m.book.Remember(feed.Identify(entry))
		}
	}
}

// store writes the memory. While entries wait for room no validators are written, so that another
// process reads the feed again.
//
// A document that has changed and lists nothing new is written with the heartbeat only. A process that
// starts meanwhile reads it once more.
func (m *memory) store(ctx context.Context, c client.Client, source *v1alpha1.FeedSource, held bool, now time.Time) error {
	sameFeed := !m.firstPoll()
	answer := m.answer
	m.validators = answer
	firstFound := m.listed && !m.emptySince.IsZero()
	if sameFeed && !m.lost && !m.book.Learnt() && !firstFound && !heartbeatDue(source, now) {
		return nil
	}
	if err := m.storeParts(ctx, c, source); err != nil {
		return err
	}
	switch {
	case m.listed:
		m.data.EmptySince = nil
	case !sameFeed:
		m.data.EmptySince = &metav1.Time{Time: now.Truncate(time.Second)}
	case !m.emptySince.IsZero():
		m.data.EmptySince = &metav1.Time{Time: m.emptySince}
	}
	m.data.URLHash, m.data.TTLMinutes = answer.urlHash, int32(answer.ttl/time.Minute) //nolint:gosec // at most a year
	if held {
		answer.etag, answer.lastModified, answer.bodyHash = "", "", ""
	}
	const longestETag, longestDate = 1024, 256
	m.data.ETag, m.data.LastModified, m.data.BodyHash = "", "", answer.bodyHash
	if len(answer.etag) <= longestETag && !m.sent.Holds(answer.etag) {
		m.data.ETag = answer.etag
	}
	if len(answer.lastModified) <= longestDate && !m.sent.Holds(answer.lastModified) {
		m.data.LastModified = answer.lastModified
	}
	if m.object.ResourceVersion == "" {
		object := &v1alpha1.FeedMemory{ObjectMeta: derive.OwnedBy(source, memoryName(source)), Data: m.data}
		return c.Create(ctx, object)
	}
	if m.object.Data == m.data {
		return nil
	}
	m.object.Data = m.data
	err := c.Update(ctx, m.object)
	if apierrors.IsNotFound(err) { // somebody deleted it during the poll
		return c.Create(ctx, &v1alpha1.FeedMemory{ObjectMeta: derive.OwnedBy(source, memoryName(source)), Data: m.data})
	}
	return err
}

// memoryName is the name of a source's memory: of its UID, so that the memory of a source that was
// deleted and created again is never taken for its own.
func memoryName(source *v1alpha1.FeedSource) string { return nameOfMemory(source, "") }

// nameOfMemory is the name of a part of a source's memory.
func nameOfMemory(source *v1alpha1.FeedSource, part string) string {
	const longest, hashLength = 253, 10
	sum := sha256.Sum256([]byte(string(source.UID) + part))
	prefix := source.Name[:min(len(source.Name), longest-hashLength-1)]
	return strings.TrimRight(prefix, "-.") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// urlHash stands for a URL where the URL itself, which may hold a token, should not be repeated.
func urlHash(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:])[:32]
}
