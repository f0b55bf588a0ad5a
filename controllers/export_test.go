// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

// SetupForTest is Setup, and returns what looks at an item or a source now: with a clock that a
// test sets, what the queue waits for never comes by itself.
func SetupForTest(ctx context.Context, manager ctrl.Manager, options Options) (lookAt func(kind string, name types.NamespacedName), err error) {
	waker := &waker{}
	return func(kind string, name types.NamespacedName) {
		switch kind {
		case ProviderKey:
			waker.serviceChanged(providerResource(name), true)
		case DestinationKey:
			waker.serviceChanged(destinationResource(name), true)
		default:
			waker.wake(scheduleKey(kind, name))
		}
	}, setup(ctx, manager, options, waker)
}

// RefusedForSpace is refusedForSpace.
func RefusedForSpace(err error) string { return refusedForSpace(err) }

// The kinds that SetupForTest's function takes.
const (
	ItemKey        = itemKey
	SourceKey      = sourceKey
	ProviderKey    = providerKey
	DestinationKey = destinationKey
)
