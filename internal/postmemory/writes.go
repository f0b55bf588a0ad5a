// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/record"
)

// postedWrites is how much time lies between two writes of what was posted at a place.
const postedWrites = time.Minute

// namespaceGone reports whether nothing was written because the namespace is gone, or going.
func namespaceGone(err error) bool {
	status, is := errors.AsType[*apierrors.StatusError](err)
	return is && (apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Kind == "namespaces")
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

// writeLater has what was posted written, a minute after the first post that is not: at once when the operator stops.
func (m *Memory) writeLater(ctx context.Context) {
	if m.all.isStopping() {
		_ = m.write(ctx)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.schedule(ctx)
}

func (m *Memory) schedule(ctx context.Context) {
	if m.due {
		return
	}
	m.due = true
	ctx = context.WithoutCancel(ctx)
	// In a goroutine of its own, because a fake clock calls back while it holds its lock.
	m.all.Clock.AfterFunc(postedWrites, func() {
		go func() {
			if !m.all.isStopping() { // then it was written, or is the next operator's to find out
				_ = m.write(ctx)
			}
		}()
	})
}

func (m *Memories) isStopping() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopping
}

// write writes what is to be written. What fails is written with the next try, a minute later.
func (m *Memory) write(ctx context.Context) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	ctx, cancel := record.Context(ctx)
	defer cancel()
	m.mu.Lock()
	m.due = false
	if m.book == nil { // it could not be read
		m.mu.Unlock()
		return nil
	}
	var surplus []int64
	if apiclock.Apart(m.all.Clock) <= apiclock.MostApart { // else nobody can say how old a post is
		surplus = m.book.Drop(m.all.Clock.Now())
	}
	chunks := m.book.Unwritten()
	m.sized()
	m.mu.Unlock()
	var failed error
	for _, number := range surplus {
		object := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{Namespace: m.Destination.Namespace, Name: m.nameOf(number)}}
		failed = errors.Join(failed, client.IgnoreNotFound(m.all.Client.Delete(ctx, object)))
	}
	for _, chunk := range chunks {
		failed = errors.Join(failed, m.put(ctx, chunk))
	}
	if namespaceGone(failed) {
		return nil // with all that could be posted there again
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused = failed != nil; m.refused {
		ctrl.LoggerFrom(ctx).Error(failed, "Failed to write posts into FeedMemory, will retry", "destination", m.Destination)
		m.schedule(ctx)
	}
	return failed
}

// put writes one chunk. What somebody else has written into it meanwhile is kept.
func (m *Memory) put(ctx context.Context, chunk posted.Chunk) error {
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
		case namespaceGone(err):
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
	return fmt.Errorf("too many conflicting writes of %s", m.nameOf(chunk.Number))
}

// merge reads a chunk that somebody else has written.
func (m *Memory) merge(ctx context.Context, number int64) error {
	object := &v1alpha1.FeedMemory{}
	if err := m.all.Live.Get(ctx, client.ObjectKey{Namespace: m.Destination.Namespace, Name: m.nameOf(number)}, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[number] = object.ResourceVersion
	if object.Posted == nil {
		return nil
	}
	if err := m.book.Load(number, object.Posted.Data); err != nil { // it is written over
		ctrl.LoggerFrom(ctx).Error(err, "FeedMemory is damaged", "memory", object.Name)
	}
	return nil
}

func (m *Memory) unwritten(number int64) (posted.Chunk, bool) {
	for _, chunk := range m.book.Unwritten() {
		if chunk.Number == number {
			return chunk, true
		}
	}
	return posted.Chunk{}, false
}

func (m *Memory) objectOf(chunk posted.Chunk) *v1alpha1.FeedMemory {
	return &v1alpha1.FeedMemory{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       m.Destination.Namespace,
			Name:            m.nameOf(chunk.Number),
			ResourceVersion: m.versions[chunk.Number],
			Labels:          map[string]string{v1alpha1.LabelDestination: labelOf(m.Destination.Name)},
			Annotations:     map[string]string{v1alpha1.AnnotationForgetAfter: chunk.Latest.Add(posted.KeptFor).UTC().Format(time.RFC3339)},
		},
		Posted: &v1alpha1.PostedMemory{
			Destination: m.Destination.Name, Server: m.Server, Account: m.Account,
			Number: chunk.Number, Posts: conditions.Bounded(chunk.Posts), Data: chunk.Data,
		},
	}
}

// nameOf is the name of the object that has a chunk.
func (m *Memory) nameOf(number int64) string {
	const longest, hashLength = 200, 10
	sum := sha256.Sum256([]byte(m.Destination.Name + "\n" + m.Server + "\n" + m.Account))
	prefix := strings.TrimRight(m.Destination.Name[:min(len(m.Destination.Name), longest)], "-.")
	return fmt.Sprintf("%s-posted-%s-%d", prefix, hex.EncodeToString(sum[:])[:hashLength], number)
}

// writeNow has what was posted at the destinations of a namespace written at once: an item of it is gone, or a source goes, and with
// them what else says so.
func (m *Memories) writeNow(ctx context.Context, namespace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	for where, memory := range m.known {
		if where.Destination.Namespace == namespace && memory.waits() && memory.hurries.CompareAndSwap(false, true) {
			go func() {
				defer memory.hurries.Store(false)
				_ = memory.write(ctx)
			}()
		}
	}
}

// ItemHandler hears of items, and has writeNow called whenever some go.
func (m *Memories) ItemHandler(ctx context.Context) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if name, err := toolscache.DeletionHandlingObjectToName(object); err == nil {
			m.writeNow(ctx, name.Namespace)
		}
	}}
}

// waits reports whether something is to be written, as far as that can be said at once. What was refused waits for its minute: else each of
// thousands of items that go would have it tried again.
func (m *Memory) waits() bool {
	if !m.mu.TryLock() { // it is being read, or somebody is at it for a moment
		return true
	}
	defer m.mu.Unlock()
	return m.due && !m.refused
}
