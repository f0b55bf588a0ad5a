// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/posted"
)

// posted makes what is remembered of posts, before there is a destination that could be asked for it. What is remembered there already, of a destination of
// that name that is gone, is kept beside it.
func (r *Restorer) posted(ctx context.Context) error {
	for i := range r.backup.Memories {
		memory := r.backup.Memories[i].DeepCopy()
		if memory.Posted == nil {
			continue
		}
		r.marked(memory)
		name := memory.Name
		err := r.create(ctx, memory)
		if apierrors.IsAlreadyExists(err) {
			err = r.merge(ctx, memory)
		}
		if err != nil {
			return fmt.Errorf("FeedMemory %s: %w", name, err)
		}
	}
	return nil
}

// merge adds the posts of a memory to those that are there.
func (r *Restorer) merge(ctx context.Context, memory *v1alpha1.FeedMemory) error {
	found := &v1alpha1.FeedMemory{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(memory), found); err != nil {
		return err
	}
	switch {
	case found.Posted == nil:
		return errors.New("there is another object of that name: delete it")
	case !found.DeletionTimestamp.IsZero(): // what was added would go with it, and be posted again
		return errors.New("it is there and is being deleted: wait until it is removed")
	}
	book := posted.New()
	if err := book.Load(memory.Posted.Number, memory.Posted.Data); err != nil {
		return fmt.Errorf("what the backup remembers of posts cannot be read: %w", err)
	}
	if err := book.Load(found.Posted.Number, found.Posted.Data); err != nil {
		return fmt.Errorf("what is remembered of posts here cannot be read: %w", err)
	}
	for _, chunk := range book.Unwritten() {
		found.Posted.Posts, found.Posted.Data = int32(min(chunk.Posts, 1<<30)), chunk.Data //nolint:gosec // bounded
		if found.Annotations == nil {
			found.Annotations = map[string]string{}
		}
		// Else posts are forgotten when the last of those was made that were there.
		found.Annotations[v1alpha1.AnnotationForgetAfter] = chunk.Latest.Add(posted.KeptFor).UTC().Format(time.RFC3339)
		if err := r.Client.Update(ctx, found); err != nil {
			return err
		}
	}
	return nil
}

// batches has batches that were begun go on, with what was sent of them, once their items are there.
func (r *Restorer) batches(ctx context.Context) error {
	for i := range r.backup.Memories {
		memory := r.backup.Memories[i].DeepCopy()
		if memory.Batch == nil {
			continue
		}
		destination := r.destinations[memory.Batch.Destination]
		if destination == nil || len(destination.Status.Batches) == 0 { // a backup that is not final lets none go on
			continue
		}
		r.marked(memory, metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "FeedDestination", Name: destination.Name, UID: r.uids[destination.UID], Controller: new(true),
		})
		if err := r.createOnce(ctx, memory); err != nil {
			return err
		}
	}
	for _, from := range r.destinations {
		if len(from.Status.Batches) == 0 {
			continue
		}
		to := &v1alpha1.FeedDestination{}
		if err := r.status(ctx, from, to, func() { to.Status.Batches = r.mapped(from.Status.Batches) }); err != nil {
			return err
		}
	}
	return nil
}

// mapped are batches of the new items. A member whose item is not in the backup stays: what is sent of it stands beside the others.
func (r *Restorer) mapped(batches []v1alpha1.Batch) []v1alpha1.Batch {
	batches = slices.Clone(batches)
	for i := range batches {
		batches[i] = *batches[i].DeepCopy()
		for j := range batches[i].Members {
			if uid, known := r.uids[batches[i].Members[j].UID]; known {
				batches[i].Members[j].UID = uid
			}
		}
	}
	return batches
}
