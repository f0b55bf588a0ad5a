// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Believed are items that wait by what the cache has of them, and not by what the API server has. The cache may be behind; so each is looked at again with
// the next change that it hears of. The zero value has none.
type Believed struct {
	items sync.Map // by types.NamespacedName
}

// Believe notes that an item is about to wait by this form of it, and reports whether the cache still has that: who learns of changes may have been told of the
// next one before.
func (b *Believed) Believe(ctx context.Context, reader client.Reader, cached *v1alpha1.FeedItem) bool {
	name := client.ObjectKeyFromObject(cached)
	b.items.Store(name, true)
	var now v1alpha1.FeedItem
	err := reader.Get(ctx, name, &now, client.UnsafeDisableDeepCopy)
	same := err == nil && now.UID == cached.UID && now.ResourceVersion == cached.ResourceVersion
	if !same {
		b.items.Delete(name)
	}
	return same
}

// Forget has an item not looked at again: it is looked at now.
func (b *Believed) Forget(item *v1alpha1.FeedItem) { b.items.Delete(client.ObjectKeyFromObject(item)) }

// Changed reports, once, whether an item of which the cache has heard of a change waits by what it was before.
func (b *Believed) Changed(name types.NamespacedName) bool {
	_, was := b.items.LoadAndDelete(name)
	return was
}
