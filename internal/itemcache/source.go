// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// SourceOf returns the source that an item came from, or nil if it is gone, going or another one
// of the same name: such an item is not worked on.
func SourceOf(ctx context.Context, reader client.Reader, item *v1alpha1.FeedItem) (*v1alpha1.FeedSource, error) {
	var source v1alpha1.FeedSource
	key := client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.SourceRef.Name}
	if err := reader.Get(ctx, key, &source); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if source.UID != item.Spec.SourceRef.UID || !source.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return &source, nil
}
