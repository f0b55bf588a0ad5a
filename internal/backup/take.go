// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/seen"
)

// Take reads what a namespace holds. Now is when that begins. It is final where no operator works on it any more, which the caller knows.
func Take(ctx context.Context, c client.Client, namespace string, now time.Time, final bool) (*Backup, error) {
	b := &Backup{Header: Header{
		Format: format, Version: formatVersion, ID: newID(), Namespace: namespace, Time: rounded(now), Final: final,
	}}
	// An operator may be at work. What was seen is read before the items: an entry that is not in it is known by its item. What was posted is
	// read after them: an item that says nothing of its post yet is known by that.
	var posts []v1alpha1.FeedMemory
	for _, read := range []func() error{
		func() error { return list(ctx, c, namespace, "AIProvider", &b.Providers) },
		func() error { return list(ctx, c, namespace, "FeedDestination", &b.Destinations) },
		func() error { return list(ctx, c, namespace, "FeedSource", &b.Sources) },
		func() error { return list(ctx, c, namespace, "FeedMemory", &b.Memories) },
		func() error { return list(ctx, c, namespace, "FeedItem", &b.Items) },
		func() error { return list(ctx, c, namespace, "FeedMemory", &posts) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	b.Memories = append(slices.DeleteFunc(b.Memories, hasPosts), slices.DeleteFunc(posts, func(m v1alpha1.FeedMemory) bool { return !hasPosts(m) })...)
	b.complete()
	return b, nil
}

func hasPosts(memory v1alpha1.FeedMemory) bool { return memory.Posted != nil }

// list reads all objects of a kind. A field that this program does not know is an error: it would be lost.
func list[T any](ctx context.Context, c client.Client, namespace, kind string, into *[]T) error {
	const page = 100 // of 50 KB each, and more
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	for {
		if err := c.List(ctx, found, client.InNamespace(namespace), client.Limit(page), client.Continue(found.GetContinue())); err != nil {
			return fmt.Errorf("list the objects of the kind %s: %w", kind, err)
		}
		for i := range found.Items {
			unstructured.RemoveNestedField(found.Items[i].Object, "metadata", "managedFields")
			var object T
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found.Items[i].Object, &object, true); err != nil {
				return fmt.Errorf("%s %s has what this program does not know: use the kubectl-feed of the operator's version: %w",
					kind, found.Items[i].GetName(), err)
			}
			*into = append(*into, object)
		}
		if found.GetContinue() == "" {
			return nil
		}
	}
}

// complete writes down what follows from UIDs and times that only the old API server gives, and leaves out what says nothing elsewhere.
func (b *Backup) complete() {
	sources := map[types.UID]*v1alpha1.FeedSource{}
	b.Sources = slices.DeleteFunc(b.Sources, func(s v1alpha1.FeedSource) bool { return !s.DeletionTimestamp.IsZero() })
	for i := range b.Sources {
		source := &b.Sources[i]
		sources[source.UID] = source
		source.Spec.Suspend = resumed(source, source.Spec.Suspend)
		clean(source)
	}
	for i := range b.Destinations {
		destination := &b.Destinations[i]
		destination.Spec.Suspend = resumed(destination, destination.Spec.Suspend)
		clean(destination)
	}
	for i := range b.Providers {
		clean(&b.Providers[i])
	}
	items := b.Items[:0]
	for i := range b.Items {
		item := &b.Items[i]
		source := sources[item.Spec.SourceRef.UID]
		if source == nil || !item.DeletionTimestamp.IsZero() { // of a source that is gone: nobody works on it any more
			continue
		}
		// What identifies an entry follows from the UID of its source where an older version has made the item.
		item.Spec.Identity = posted.OfItem(item, derive.FeedOf(source)).String()
		clean(item)
		items = append(items, *item)
	}
	b.Items = items
	for i := range b.Memories {
		memory := &b.Memories[i]
		noteEmpty(memory)
		clean(memory)
	}
}

// noteEmpty notes since when a feed has been empty that was read by a version which did not: since its memory was made.
func noteEmpty(memory *v1alpha1.FeedMemory) {
	data := &memory.Data
	if data.URLHash == "" || data.EmptySince != nil || data.Archive != "" {
		return
	}
	if book, err := seen.Load(*data); err == nil && book.Empty() {
		data.EmptySince = new(memory.CreationTimestamp)
	}
}

// resumed is whether a person has suspended an object, and not a backup.
func resumed(object metav1.Object, suspended bool) bool {
	return suspended && object.GetAnnotations()[v1alpha1.AnnotationSuspendedForBackup] == ""
}

// clean leaves out of an object what another API server gives itself, and keeps as annotations what it was given by the first one.
func clean(object client.Object) {
	annotations := maps.Clone(object.GetAnnotations())
	maps.DeleteFunc(annotations, func(name, _ string) bool {
		switch name {
		case v1alpha1.AnnotationSuspendedForBackup, v1alpha1.AnnotationRestoredFrom, v1alpha1.AnnotationRestoring:
			return true
		}
		return strings.HasPrefix(name, "kubectl.kubernetes.io/") // its last-applied-configuration holds the object once more
	})
	if annotations == nil {
		annotations = map[string]string{}
	}
	switch object.(type) {
	case *v1alpha1.FeedItem, *v1alpha1.FeedSource:
		annotations[v1alpha1.AnnotationOriginalUID] = string(v1alpha1.OriginalUID(object))
		annotations[v1alpha1.AnnotationOriginalCreation] = v1alpha1.Created(object).UTC().Format(time.RFC3339)
	}
	object.SetAnnotations(annotations)
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	object.SetFinalizers(nil)
}
