// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// SetupForTest is Setup, and returns what looks at an item or a source now: with a clock that a
// test sets, what the queue waits for never comes by itself.
func SetupForTest(ctx context.Context, manager ctrl.Manager, options Options) (lookAt func(kind string, name types.NamespacedName), err error) {
	waker := &queue.Waker{}
	return func(kind string, name types.NamespacedName) {
		switch kind {
		case ProviderKey:
			waker.ServiceChanged(schedule.Provider(name), true)
		case DestinationKey:
			waker.ServiceChanged(schedule.Destination(name), true)
		default:
			waker.Wake(queue.Key(kind, name))
		}
	}, setup(ctx, manager, options, waker)
}

// The kinds that SetupForTest's function takes.
const (
	ItemKey        = queue.ItemKey
	SourceKey      = queue.SourceKey
	ProviderKey    = queue.ProviderKey
	DestinationKey = queue.DestinationKey
)

// ComesBackAfter is when a key comes back after so many errors in a row.
func ComesBackAfter(errors int) (after time.Duration) {
	limiter := queue.Options(queue.LimitOfChecks).RateLimiter
	for range errors {
		after = limiter.When(ctrl.Request{})
	}
	return after
}

// Kept is keptResults.
type Kept struct{ results keptResults }

// Keep keeps a result of so many bytes.
func (k *Kept) Keep(namespace, name string, bytes int64) {
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name = namespace, name
	k.results.keep(item, sized(bytes))
}

// Drop forgets what is kept of an item.
func (k *Kept) Drop(namespace, name string) {
	k.results.drop(types.NamespacedName{Namespace: namespace, Name: name})
}

// Full says that there is no room for another one of a namespace.
func (k *Kept) Full(namespace string) bool { return k.results.full(namespace) }

// Bytes is how much is kept.
func (k *Kept) Bytes() int64 { return k.results.bytes }

// sized is a result of so many bytes.
type sized int64

func (sized) about() string { return "size" }
func (sized) write(context.Context, *v1alpha1.FeedItem, int) (*v1alpha1.FeedItem, error) {
	return nil, nil
}
func (s sized) putAway() int64 { return int64(s) }

// FoundPosts is foundPosts.
type FoundPosts struct{ found foundPosts }

// Claim claims a post for a delivery, some time after the operator has started.
func (f *FoundPosts) Claim(after time.Duration, name, delivery string) bool {
	return f.found.claim(after, []string{name}, delivery)
}

// Len is how many names of posts are claimed.
func (f *FoundPosts) Len() int { return len(f.found.by) }
