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

// ForTest is what is different in a test.
type ForTest struct {
	// HasKinds is set where the API server is known to have the kinds of this version.
	HasKinds bool
	// ByClockOnly has nothing that waits in a queue come by the machine's timers, however slow the machine is.
	ByClockOnly bool
}

// SetupForTest is Setup, and returns what looks at an object now. What waits in a queue comes when its time
// has passed by the clock of the options too, which a test sets. Whether the API server has the kinds of this version need not be asked for each of hundreds
// of tests at one that has.
func SetupForTest(ctx context.Context, manager ctrl.Manager, options Options, test ForTest) (lookAt func(kind string, name types.NamespacedName), err error) {
	timers := byBoth
	if test.ByClockOnly {
		timers = 0
	}
	waker, kinds := &queue.Waker{NewQueue: queuesBy(options.Clock, timers)}, watchKinds
	if test.HasKinds {
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
	limiter := queue.RateLimiter()
	for range errors {
		after = limiter.When(ctrl.Request{})
	}
	return after
}
