// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// namespacesAtOnce is for how many namespaces something is written at once when the operator stops.
const namespacesAtOnce = 16

// inVain is for how long it is tried to write what is of one namespace when the operator stops, if nothing of that comes: sooner than who writes gives up by
// itself.
const inVain = writeTimeout * 9 / 10

// Last has all be written that is not written when the operator stops: what is of one namespace one after the other, however long that takes in all.
// The API server may not answer for one namespace, or refuse what is of it; when the writes that have failed have taken inVain together, what is left of that
// namespace is given up, as after a crash. So it holds up nothing of the others, nor the end, before which no other operator takes over.
func Last[T any](ctx context.Context, all []T, namespaceOf func(T) string, write func(context.Context, T) error) {
	byNamespace := map[string][]T{}
	for _, one := range all {
		byNamespace[namespaceOf(one)] = append(byNamespace[namespaceOf(one)], one)
	}
	var writing errgroup.Group
	writing.SetLimit(namespacesAtOnce)
	for _, its := range byNamespace {
		writing.Go(func() error {
			for left := inVain; len(its) > 0 && left > 0; its = its[1:] {
				left -= failing(ctx, its[0], left, write)
			}
			return nil
		})
	}
	_ = writing.Wait() // none fails
}

// byLast marks the contexts of Last, which ends them and nobody else.
type byLast struct{}

// failing writes one in a time at most, and returns how much of that was in vain.
func failing[T any](ctx context.Context, one T, most time.Duration, write func(context.Context, T) error) time.Duration {
	limited, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), byLast{}, true), most)
	defer cancel()
	began := time.Now()
	switch err := write(limited, one); {
	case limited.Err() != nil:
		return most
	case err != nil:
		return time.Since(began)
	}
	return 0
}
