// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/record"
)

const (
	// unusedMemory is after how long what is not asked for is not kept in memory any more: 5 MB with 20,000 posts.
	unusedMemory = time.Hour
	// keptInMemory is of how many destinations it is kept at a start before somebody asks.
	keptInMemory = 8
	// expiryInterval is how often FeedMemories are removed whose posts are all too old.
	expiryInterval = time.Hour
	// mostMemories is how many FeedMemories a destination may have: those of the account that posts, and as many of others. Who the account is
	// says the server, which may say another each time.
	mostMemories = 2 * posted.MostChunks
)

// forgetAfter is when all posts of a FeedMemory are too old.
func forgetAfter(found *metav1.PartialObjectMetadata) time.Time {
	after, err := time.Parse(time.RFC3339, found.Annotations[v1alpha1.AnnotationForgetAfter])
	if err != nil { // somebody has edited it; the next write sets it right
		return found.CreationTimestamp.Add(posted.KeptFor)
	}
	return after
}

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feedmemories,verbs=get;list;create;update;delete

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (m *Memories) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable: it removes what is too old, and when the operator stops writes what is not written.
//
// First it reads what was posted to each destination, as long as the items are there that say what a crash has cut off.
func (m *Memories) Start(ctx context.Context) error {
	if !m.Synced(ctx) {
		return ctx.Err()
	}
	if err := m.readAll(ctx); err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to read the posts of a destination, will retry with the next item")
	}
	for {
		if err := m.expire(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to remove expired FeedMemories, will retry in an hour")
		}
		select {
		case <-m.Clock.After(expiryInterval):
		case <-ctx.Done():
			record.Last(ctx, m.stop(), func(memory *Memory) string { return memory.Destination.Namespace },
				func(ctx context.Context, memory *Memory) error { return memory.write(ctx) })
			return nil
		}
	}
}

// readAll reads what was posted to each destination, one after the other, and keeps what is to be written.
func (m *Memories) readAll(ctx context.Context) error {
	var destinations v1alpha1.FeedDestinationList
	if err := m.Client.List(ctx, &destinations); err != nil {
		return err
	}
	var failed error
	for i := range destinations.Items {
		described := &destinations.Items[i]
		where, known := TargetOf(described, described.Status.Server)
		if !known || described.Status.ObservedGeneration != described.Generation { // the account may be another server's
			continue
		}
		memory, err := m.At(ctx, where)
		failed = errors.Join(failed, err)
		m.mu.Lock()
		if err == nil && len(m.known) > keptInMemory && memory.evict(ctx) {
			delete(m.known, memory.Target)
		}
		m.mu.Unlock()
	}
	return failed
}

// stop has everything written at once from now on, and returns what is to be written.
func (m *Memories) stop() (due []*Memory) {
	m.mu.Lock()
	m.stopping = true
	known := slices.Collect(maps.Values(m.known))
	m.mu.Unlock()
	for _, memory := range known { // with no lock held: one that is being read asks for this one
		memory.mu.Lock()
		if memory.due {
			due = append(due, memory)
		}
		memory.mu.Unlock()
	}
	return due
}

// expire removes the FeedMemories of which all posts are too old, also those of destinations that are gone, and the oldest where one
// destination has too many. One that is written meanwhile is another version, which stays. What nobody has asked for lately is read
// again when somebody does.
func (m *Memories) expire(ctx context.Context) error {
	m.evictThose(ctx, func(memory *Memory) bool { return m.Clock.Now().Sub(memory.used) >= unusedMemory })
	if apart := apiclock.Apart(m.Clock); apart > apiclock.MostApart {
		ctrl.LoggerFrom(ctx).Info("FeedMemory expiry paused: the clocks of the API server and of this machine differ too much", "apart", apart)
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

// discard removes a FeedMemory, if it is still as it was found.
func (m *Memories) discard(ctx context.Context, found *metav1.PartialObjectMetadata) error {
	object := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name}}
	err := m.Client.Delete(ctx, object, client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Removed expired posts from FeedMemory", "memory", client.ObjectKeyFromObject(object))
	}
	return err
}
