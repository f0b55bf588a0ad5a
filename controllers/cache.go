// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
)

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
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.FeedItem{}: {Transform: itemcache.Slim},
		},
	}
}

// ClientOptions sends reads of Secrets and memories to the API server: neither is cached.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}, &v1alpha1.FeedMemory{}},
	}}
}
