// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"strings"
	"time"

	expiring "k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/flight"
	"github.com/feed-operator/feed-operator/internal/dashboard/people"
	"github.com/feed-operator/feed-operator/internal/share"
)

const (
	// mostWhole is how many whole items are kept, and wholeKept for how long: without their content they have 50 KB at most, and usually 3.
	mostWhole = 64
	wholeKept = time.Minute
	// readsAtOnce is how many items are read from the API server at the same time, readsOfOne how many of them for one tenant.
	readsAtOnce, readsOfOne = 4, 2
	readTimeout             = 10 * time.Second
)

// wholeItems reads single items from the API server, because the cache does not hold the texts of finished ones. Viewers share what was read
// as long as the cache knows of no newer version.
type wholeItems struct {
	live   client.Reader
	kept   *expiring.LRUExpireCache
	flying flight.Group[*v1alpha1.FeedItem]
	places *share.Places
}

func newWholeItems(live client.Reader, now func() time.Time) *wholeItems {
	return &wholeItems{live: live, kept: expiring.NewLRUExpireCacheWithClock(mostWhole, people.Clock(now)), places: share.New(readsAtOnce, readsOfOne)}
}

// of returns an item with its texts, but for the content of its entry, for somebody of a tenant. It is shared: read, never change it.
func (w *wholeItems) of(ctx context.Context, tenant string, item Item) (*v1alpha1.FeedItem, error) {
	id := strings.Join([]string{item.Namespace, item.Name, item.Version}, "/")
	if kept, found := w.kept.Get(id); found {
		if whole, is := kept.(*v1alpha1.FeedItem); is {
			return whole, nil
		}
	}
	return w.flying.Do(ctx, id, readTimeout, func(ctx context.Context) (*v1alpha1.FeedItem, error) {
		leave, err := w.places.Take(ctx, tenant, readTimeout)
		if err != nil {
			return nil, err
		}
		defer leave()
		whole := &v1alpha1.FeedItem{}
		if err := w.live.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, whole); err != nil {
			return nil, fmt.Errorf("read the FeedItem: %w", err)
		}
		whole.Spec.Content, whole.Spec.CompressedContent = "", ""
		w.kept.Add(id, whole, wholeKept)
		return whole, nil
	})
}
