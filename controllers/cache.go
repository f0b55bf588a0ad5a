// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// bySource indexes FeedItems by the UID of the source that they came from.
const bySource = "spec.sourceRef.uid"

// CacheOptions keeps in memory what decides about work, and leaves texts to live reads. A kind
// that has no informer here is never read from the cache by accident: it is an error. Without
// namespaces, all are watched.
func CacheOptions(namespaces ...string) cache.Options {
	watched := map[string]cache.Config{}
	for _, namespace := range namespaces {
		watched[namespace] = cache.Config{}
	}
	return cache.Options{
		DefaultNamespaces:           watched,
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.FeedItem{}: {Transform: slimItem},
		},
	}
}

// ClientOptions sends reads of Secrets and memories to the API server: neither is cached.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}, &v1alpha1.FeedMemory{}},
	}}
}

// slimItem drops what no decision needs from the cached form of an item. Of finished items, which
// are the many, only identity, phase and times stay.
func slimItem(object any) (any, error) {
	item, ok := object.(*v1alpha1.FeedItem)
	if !ok {
		return object, nil
	}
	item.ManagedFields = nil
	item.Spec.Content, item.Spec.CompressedContent = "", ""
	item.Spec.Author, item.Spec.Categories = "", nil
	if !item.Terminal() {
		return item, nil
	}
	item.Labels = nil
	item.OwnerReferences = nil
	item.Spec.Title = ""
	item.Status.Failure, item.Status.ProviderFailures = nil, nil
	item.Status.Conditions = nil
	if item.Status.Summary != nil {
		item.Status.Summary = &v1alpha1.Summary{} // that there is one is what decides
	}
	return item, nil
}

// cacheKinds has all kinds cached that are read from the cache, before anything starts that could
// read one whose own controller has not started yet.
func cacheKinds(ctx context.Context, kinds cache.Cache) error {
	for _, kind := range []client.Object{&v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}, &v1alpha1.AIProvider{}} {
		if _, err := kinds.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return nil
}

// indexItems adds the indexes of the cache. They are all here.
func indexItems(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.FeedItem{}, bySource, func(object client.Object) []string {
		item, ok := object.(*v1alpha1.FeedItem)
		if !ok {
			return nil
		}
		return []string{string(item.Spec.SourceRef.UID)}
	})
}

// itemsOf lists the cached items of a source. They are slim and shared: read, never change or
// write them.
func itemsOf(ctx context.Context, reader client.Reader, source *v1alpha1.FeedSource) ([]v1alpha1.FeedItem, error) {
	var list v1alpha1.FeedItemList
	err := reader.List(ctx, &list, client.InNamespace(source.Namespace),
		client.MatchingFields{bySource: string(source.UID)}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}
