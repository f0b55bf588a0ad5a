// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batches

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batch"
)

// Nobody replaces what is kept to be sent of a batch, nor removes it while the batch may be announced: another operator, deposed or not, may be about to send
// just that. Who finds it kept already sends it as it is.

// recordsName is the name of the FeedMemory with what is sent of a batch.
func recordsName(d *v1alpha1.FeedDestination, key string) string {
	const ofKey = 20
	return recordsPrefix(d) + key[:min(len(key), ofKey)]
}

func recordsPrefix(d *v1alpha1.FeedDestination) string {
	const longest = 200
	return strings.TrimRight(d.Name[:min(len(d.Name), longest)], "-.") + "-batch-"
}

// keep writes down what is sent of a batch, before that is announced.
func (b *Batcher) keep(ctx context.Context, d *v1alpha1.FeedDestination, made *draft, packed string) error {
	kept := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace, Name: recordsName(d, made.Key),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "FeedDestination", Name: d.Name, UID: d.UID, Controller: new(true),
		}},
	}, Batch: &v1alpha1.BatchRecords{Destination: d.Name, Data: packed}}
	err := b.Client.Create(ctx, kept)
	if apierrors.IsAlreadyExists(err) {
		return b.adopt(ctx, d, made, kept)
	}
	if err == nil {
		made.created = kept
		b.noteKept(d, kept.Name, kept.UID)
	}
	return err
}

// adopt has a batch send what is kept of it already: by another operator that is about to announce it, or by one that was cut off before that. What is of
// no use, such as that of a destination of the same name that is gone, gives way.
func (b *Batcher) adopt(ctx context.Context, d *v1alpha1.FeedDestination, made *draft, wanted *v1alpha1.FeedMemory) error {
	found := &v1alpha1.FeedMemory{}
	if err := b.Live.Get(ctx, client.ObjectKeyFromObject(wanted), found); err != nil {
		return err
	}
	if metav1.IsControlledBy(found, d) && found.Batch != nil {
		if records, err := batch.Unpack(found.Batch.Data); err == nil && batch.AreOf(records, made.Members) {
			made.records = records
			b.noteKept(d, found.Name, found.UID)
			return nil
		}
	}
	if err := b.Client.Delete(ctx, found, client.Preconditions{UID: &found.UID}); client.IgnoreNotFound(err) != nil {
		return err
	}
	wanted.ResourceVersion = ""
	err := b.Client.Create(ctx, wanted)
	if err == nil {
		made.created = wanted
		b.noteKept(d, wanted.Name, wanted.UID)
	}
	return err
}

// noteKept notes what is kept of a batch.
func (b *Batcher) noteKept(d *v1alpha1.FeedDestination, name string, uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.knownOf(d).kept[name] = uid
}

// keptFor returns what is kept of batches of a destination, by name. What others have left is looked for once.
func (b *Batcher) keptFor(ctx context.Context, d *v1alpha1.FeedDestination) (map[string]types.UID, error) {
	b.mu.Lock()
	known := b.knownOf(d)
	found, listed := maps.Clone(known.kept), known.listed
	b.mu.Unlock()
	if listed {
		return found, nil
	}
	const page = 500
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedMemoryList"))
	for {
		if err := b.Live.List(ctx, list, client.InNamespace(d.Namespace), client.Limit(page), client.Continue(list.Continue)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if one := &list.Items[i]; metav1.IsControlledBy(one, d) && strings.HasPrefix(one.Name, recordsPrefix(d)) {
				found[one.Name] = one.UID
			}
		}
		if list.Continue == "" {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	known.listed = true
	maps.Copy(known.kept, found)
	return found, nil
}

// removeKept removes what was kept before the status of a destination was written as it is, of batches that it does not know as unfinished: whoever has
// kept it has read a status before that one, and cannot announce it any more.
func (b *Batcher) removeKept(ctx context.Context, d *v1alpha1.FeedDestination, kept map[string]types.UID) error {
	for i := range d.Status.Batches {
		if of := &d.Status.Batches[i]; batch.Open(of) {
			delete(kept, recordsName(d, of.Key))
		}
	}
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		uid := kept[name]
		object := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name}}
		err := b.Client.Delete(ctx, object, client.Preconditions{UID: &uid})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, err)
			continue
		}
		b.mu.Lock()
		if known := b.knownOf(d); known.kept[name] == uid {
			delete(known.kept, name)
		}
		b.mu.Unlock()
	}
	return errors.Join(failed...)
}
