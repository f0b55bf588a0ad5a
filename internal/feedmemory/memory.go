// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedmemory

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

// Validators tell whether a feed has changed since it was read last.
type Validators struct {
	URLHash, ETag, LastModified, BodyHash string
	// TTL is for how long the document asks to be kept. It is in the document only, and so must be
	// remembered while that stays as it is.
	TTL time.Duration
}

// Memory is what is remembered of a source, during one poll.
type Memory struct {
	// Validators of the last answer that was taken.
	Validators Validators
	// Answer of this poll.
	Answer Validators
	// Sent is what the server of the answer was sent that is not to be shown.
	Sent *redact.Sent
	// object in the API server, nil while it was not read, and the archive of a memory that has grown.
	object  *v1alpha1.FeedMemory
	archive v1alpha1.FeedMemory
	Data    v1alpha1.FeedMemoryData
	Book    *seen.Memory
	// Complete is set once the memory holds the identities of all items that there are.
	Complete bool
	// listed is set once the document of this poll was found to list entries.
	listed bool
	// Lost is set when there should be a memory and there is none.
	Lost bool
	// emptySince is when the URL of the memory was read first, as long as no entry was found there; zero once one was.
	emptySince time.Time
}

// Load reads the memory from the API server, once.
func (m *Memory) Load(ctx context.Context, live client.Reader, source *v1alpha1.FeedSource) error {
	if m.object != nil {
		return nil
	}
	var object v1alpha1.FeedMemory
	err := live.Get(ctx, client.ObjectKey{Namespace: source.Namespace, Name: NameOf(source)}, &object)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	archived, err := m.loadArchive(ctx, live, &object)
	if err != nil {
		return err
	}
	book, corrupt := seen.LoadParts(object.Data, m.archive.Data)
	if corrupt != nil {
		ctrl.LoggerFrom(ctx).Error(corrupt, "FeedMemory could not be read, started a new one", "memory", object.Name)
		object.Data, m.archive.Data = v1alpha1.FeedMemoryData{}, v1alpha1.FeedMemoryData{}
		if book, err = seen.Load(object.Data); err != nil {
			return err
		}
	}
	m.object, m.Data, m.Book = &object, object.Data, book
	m.Lost = (m.Data.URLHash == "" || !archived) && source.Status.LastSuccessTime != nil
	switch {
	case m.Data.EmptySince != nil:
		m.emptySince = m.Data.EmptySince.Time
	case m.Data.URLHash != "" && book.Empty(): // written by a version that did not note it: that was with the first poll
		m.emptySince = object.CreationTimestamp.Time
	}
	m.Validators = Validators{
		URLHash: m.Data.URLHash, ETag: m.Data.ETag, LastModified: m.Data.LastModified, BodyHash: m.Data.BodyHash,
		TTL: time.Duration(m.Data.TTLMinutes) * time.Minute,
	}
	return nil
}

// firstPoll reports whether this URL has not been polled before.
func (m *Memory) firstPoll() bool { return m.Data.URLHash != m.Answer.URLHash }

// First bounds what becomes items where nothing was found at this URL before. Begun is how many items an earlier try of
// this poll has made.
func (m *Memory) First(source *v1alpha1.FeedSource, begun int, now time.Time) polling.First {
	first := polling.First{Poll: true, Items: max(source.InitialItems()-begun, 0)}
	if !believable.Past(m.emptySince, now) { // it was with the first poll, or later
		m.emptySince = m.object.CreationTimestamp.Time
		if !believable.Past(m.emptySince, now) { // it was made by the same clock
			m.emptySince = now
		}
	}
	if !m.firstPoll() {
		first.Poll, first.Since = !m.emptySince.IsZero(), m.emptySince
	}
	return first
}

// Remember notes what was seen: all that the document lists, but what waits for room.
func (m *Memory) Remember(entries []feed.Entry, plan polling.Plan) {
	m.listed = len(entries) > 0
	if plan.Held == 0 {
		m.Book.RememberListed()
		return
	}
	m.Book.RememberKnown()
	for _, list := range [][]feed.Entry{plan.Remember, plan.Create} {
		for _, entry := range list {
			m.Book.Remember(feed.Identify(entry))
		}
	}
}

// Store writes the memory. While entries wait for room no validators are written, so that another
// process reads the feed again.
//
// A document that has changed and lists nothing new is written only when that is due, with the heartbeat. A process that
// starts meanwhile reads it once more.
func (m *Memory) Store(ctx context.Context, c client.Client, source *v1alpha1.FeedSource, held, due bool, now time.Time) error {
	sameFeed := !m.firstPoll()
	answer := m.Answer
	m.Validators = answer
	firstFound := m.listed && !m.emptySince.IsZero()
	if sameFeed && !m.Lost && !m.Book.Learnt() && !firstFound && !due {
		return nil
	}
	if err := m.storeParts(ctx, c, source); err != nil {
		return err
	}
	switch {
	case m.listed:
		m.Data.EmptySince = nil
	case !sameFeed:
		m.Data.EmptySince = &metav1.Time{Time: now.Truncate(time.Second)}
	case !m.emptySince.IsZero():
		m.Data.EmptySince = &metav1.Time{Time: m.emptySince}
	}
	m.Data.URLHash, m.Data.TTLMinutes = answer.URLHash, int32(answer.TTL/time.Minute) //nolint:gosec // at most a year
	if held {
		answer.ETag, answer.LastModified, answer.BodyHash = "", "", ""
	}
	const longestETag, longestDate = 1024, 256
	m.Data.ETag, m.Data.LastModified, m.Data.BodyHash = "", "", answer.BodyHash
	if len(answer.ETag) <= longestETag && !m.Sent.Holds(answer.ETag) {
		m.Data.ETag = answer.ETag
	}
	if len(answer.LastModified) <= longestDate && !m.Sent.Holds(answer.LastModified) {
		m.Data.LastModified = answer.LastModified
	}
	if m.object.ResourceVersion != "" {
		if m.object.Data == m.Data {
			return nil
		}
		m.object.Data = m.Data
		if err := c.Update(ctx, m.object); !apierrors.IsNotFound(err) { // else somebody deleted it during the poll
			return err
		}
	}
	return c.Create(ctx, &v1alpha1.FeedMemory{ObjectMeta: derive.OwnedBy(source, NameOf(source)), Data: m.Data})
}

// NameOf is the name of a source's memory: of its UID, so that the memory of a source that was
// deleted and created again is never taken for its own.
func NameOf(source *v1alpha1.FeedSource) string { return nameOfMemory(source, "") }

// nameOfMemory is the name of a part of a source's memory.
func nameOfMemory(source *v1alpha1.FeedSource, part string) string {
	const longest, hashLength = 253, 10
	sum := sha256.Sum256([]byte(string(source.UID) + part))
	prefix := source.Name[:min(len(source.Name), longest-hashLength-1)]
	return strings.TrimRight(prefix, "-.") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// URLHash stands for a URL where the URL itself, which may hold a token, should not be repeated.
func URLHash(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:])[:32]
}
