// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// SetupForTest is Setup, and returns what looks at an item or a source now: with a clock that a
// test sets, what the queue waits for never comes by itself. Whether the API server has the kinds of this version need not be asked for each of hundreds
// of tests at one that has.
func SetupForTest(ctx context.Context, manager ctrl.Manager, options Options, hasKinds bool) (lookAt func(kind string, name types.NamespacedName), err error) {
	waker, kinds := &queue.Waker{}, watchKinds
	if hasKinds {
		kinds = func(context.Context, ctrl.Manager, *crdcheck.Checker) error { return nil }
	}
	return func(kind string, name types.NamespacedName) {
		switch kind {
		case ProviderKey:
			waker.ServiceChanged(schedule.Provider(name), true)
		case DestinationKey:
			waker.ServiceChanged(schedule.Destination(name), true)
		default:
			waker.Wake(queue.Key(kind, name))
		}
	}, setup(ctx, manager, options, waker, kinds)
}

// The kinds that SetupForTest's function takes.
const (
	ItemKey        = queue.ItemKey
	SourceKey      = queue.SourceKey
	ProviderKey    = queue.ProviderKey
	DestinationKey = queue.DestinationKey
	EventsKey      = queue.EventsKey
)

// ComesBackAfter is when a key comes back after so many errors in a row.
func ComesBackAfter(errors int) (after time.Duration) {
	limiter := queue.Options(queue.LimitOfChecks).RateLimiter
	for range errors {
		after = limiter.When(ctrl.Request{})
	}
	return after
}
