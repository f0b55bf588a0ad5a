// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package itemcache is what the operator keeps in memory of all FeedItems: slim, with what items have in common held once, and by the indexes with
// which they are looked up. All indexes are here.
//
// What it returns says what may be worth a look. It is shared and may be old: nothing that is seen by others follows from it alone. Only
// Fresh has whole items, a few that this process has made a moment ago.
package itemcache

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// byRefusal indexes the FeedItems that failed for refused credentials by the services that had
// refused them.
const byRefusal = "status.refusedBy"

// bySource indexes FeedItems by the UID of the source that they came from.
const bySource = "spec.sourceRef.uid"

// byUnfinished indexes the FeedItems with which something is to be done, or may be, by the UID of the source
// that they came from, and each by anySource. A list of all items takes as much memory as the cache, and
// nearly all items rest.
const (
	byUnfinished = "status.unfinished"
	AnySource    = "any"
)

// Slim drops what no decision needs from the cached form of an item. Of finished items, which
// are the many, only identity, phase and times stay.
func Slim(object any) (any, error) {
	item, ok := object.(*v1alpha1.FeedItem)
	if !ok {
		return object, nil
	}
	item.Spec.Content, item.Spec.CompressedContent = "", ""
	item.Spec.Author, item.Spec.Categories = "", nil
	item.Status.History = nil
	item.Namespace = shared(item.Namespace)
	item.Spec.SourceRef.Name = shared(item.Spec.SourceRef.Name)
	item.Spec.SourceRef.UID = types.UID(shared(string(item.Spec.SourceRef.UID)))
	if !item.Terminal() || len(lifecycle.Refusals(item)) > 0 {
		return item, nil
	}
	rows := item.Status.Deliveries
	item.Spec.Title, item.Status.ArticleHash = shortTitle(item.Spec.Title), ""
	item.Spec.Image, item.Status.PageImage = nil, nil
	item.Status.Phase, item.Status.Reason = v1alpha1.Phase(shared(string(item.Status.Phase))), v1alpha1.Reason(shared(string(item.Status.Reason)))
	if item.Spec.GUID == item.Spec.URL {
		item.Spec.GUID = item.Spec.URL // the same text once
	}
	item.Status.ProviderFailures, item.Status.Deliveries = slimFailures(item)
	if item.Status.Phase == v1alpha1.PhaseProcessed {
		item.Status.Deliveries = postsOf(rows)
	}
	item.Status.Conditions, item.Status.Failure, item.Status.Screening = nil, nil, nil
	item.Status.Notifications = lifecycle.OpenNotifications(item)
	if item.Status.Summary != nil {
		item.Status.Summary = SomeSummary // that there is one is what decides
	}
	return item, nil
}

// SomeSummary stands for the summary of every finished item in the cache, which nobody writes to.
var SomeSummary = &v1alpha1.Summary{}

// WatchKinds has all kinds cached that are read from the cache, before anything starts that could
// read one whose own controller has not started yet.
func WatchKinds(ctx context.Context, kinds cache.Cache) error {
	for _, kind := range []client.Object{&v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}, &v1alpha1.AIProvider{}, &v1alpha1.FeedDestination{}} {
		if _, err := kinds.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return nil
}

// Hear has somebody hear of all items as the cache does. All reports whether they have heard of all that were there at the start.
func Hear(ctx context.Context, kinds cache.Cache, heard toolscache.ResourceEventHandler) (all func() bool, err error) {
	informer, err := kinds.GetInformer(ctx, &v1alpha1.FeedItem{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	hears, err := informer.AddEventHandler(heard)
	if err != nil {
		return nil, err
	}
	return hears.HasSynced, nil
}

// Index adds the indexes of the cache. They are all here.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for field, keysOf := range map[string]func(item *v1alpha1.FeedItem) []string{
		byRefusal: func(item *v1alpha1.FeedItem) []string { return servicesOf(item, lifecycle.Refusals(item)) },
		byFailing: func(item *v1alpha1.FeedItem) []string { return servicesOf(item, lifecycle.Failings(item)) },
		bySource:  func(item *v1alpha1.FeedItem) []string { return []string{string(item.Spec.SourceRef.UID)} },
		byUnfinished: func(item *v1alpha1.FeedItem) []string {
			if !Unfinished(item) {
				return nil
			}
			return []string{string(item.Spec.SourceRef.UID), AnySource}
		},
	} {
		err := indexer.IndexField(ctx, &v1alpha1.FeedItem{}, field, func(object client.Object) []string {
			if item := AsItem(object); item != nil {
				return keysOf(item)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// listBy lists the cached items in a namespace, or in all, by an index. They are slim and shared: read, never change or write them.
func listBy(ctx context.Context, reader client.Reader, namespace, field, key string) ([]v1alpha1.FeedItem, error) {
	var list v1alpha1.FeedItemList
	err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{field: key}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// servicesOf names the services where an item has failed, or was given up.
func servicesOf[F lifecycle.Failing | lifecycle.Refusal](item *v1alpha1.FeedItem, failed []F) []string {
	names := make([]string, 0, len(failed))
	for _, at := range failed {
		names = append(names, Refuser(item, lifecycle.Refusal(at)).String())
	}
	return names
}

// ServiceOf is how the schedule knows a service; zero for what is none.
func ServiceOf(object client.Object) schedule.Resource {
	switch object.(type) {
	case *v1alpha1.AIProvider:
		return schedule.Provider(client.ObjectKeyFromObject(object))
	case *v1alpha1.FeedDestination:
		return schedule.Destination(client.ObjectKeyFromObject(object))
	}
	return schedule.Resource{}
}

// Refuser is the service that has refused its credentials to an item, or where it has failed otherwise.
func Refuser(item *v1alpha1.FeedItem, by lifecycle.Refusal) schedule.Resource {
	key := client.ObjectKey{Namespace: item.Namespace, Name: by.Name}
	if by.Stage == v1alpha1.StageDeliver {
		return schedule.Destination(key)
	}
	return schedule.Provider(key)
}

// RefusedBy lists the cached items that are given up for the refused credentials of a service.
func RefusedBy(ctx context.Context, reader client.Reader, id schedule.Resource) ([]v1alpha1.FeedItem, error) {
	return listBy(ctx, reader, queue.Named(id.Name).Namespace, byRefusal, id.String())
}

// GivenUpFor lists the items that are given up for the refused credentials of a service, and when the
// last of them was; zero for never.
func GivenUpFor(ctx context.Context, reader client.Reader, id schedule.Resource) (last time.Time, names []types.NamespacedName, err error) {
	items, err := RefusedBy(ctx, reader, id)
	for i := range items {
		names = append(names, client.ObjectKeyFromObject(&items[i]))
		for _, by := range lifecycle.Refusals(&items[i]) {
			if Refuser(&items[i], by) == id && by.Time.After(last) {
				last = by.Time
			}
		}
	}
	return last, names, err
}

// OfSource lists the cached items of a source. They are slim and shared: read, never change or
// write them.
func OfSource(ctx context.Context, reader client.Reader, source *v1alpha1.FeedSource) ([]v1alpha1.FeedItem, error) {
	return listBy(ctx, reader, source.Namespace, bySource, string(source.UID))
}

// UnfinishedOf lists the cached items in a namespace, or in all, with which something is to be done, or may
// be. Source is the UID of the source that they came from, or anySource. They are slim and shared: read, never
// change or write them.
func UnfinishedOf(ctx context.Context, reader client.Reader, namespace, source string) ([]v1alpha1.FeedItem, error) {
	return listBy(ctx, reader, namespace, byUnfinished, source)
}

// Unfinished keeps out the items that rest: after a start they are nearly all. Those that failed for
// refused credentials may have been replaced while no operator ran, and a retry of all that failed
// may have been requested.
func Unfinished(object client.Object) bool {
	item := AsItem(object)
	return item != nil && (lifecycle.Next(item, time.Time{}).Action != lifecycle.Rest || len(lifecycle.Refusals(item)) > 0 ||
		item.Status.Phase == v1alpha1.PhaseFailed)
}

// AsItem returns an object as an item; nil where it is none.
func AsItem(object client.Object) *v1alpha1.FeedItem {
	item, _ := object.(*v1alpha1.FeedItem)
	return item
}
