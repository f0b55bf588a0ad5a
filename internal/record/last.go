// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// namespacesAtOnce is for how many namespaces something is written at once when the operator stops.
const namespacesAtOnce = 16

// Last has all be written that is not written when the operator stops: what is of one namespace one after the other, each with the time of a
// result. The API server may not answer for one namespace; then what is left of that is given up, as after a crash, and it holds up nothing of the
// others, nor the end, before which no other operator takes over.
func Last[T any](ctx context.Context, all []T, namespaceOf func(T) string, write func(context.Context, T)) {
	byNamespace := map[string][]T{}
	for _, one := range all {
		byNamespace[namespaceOf(one)] = append(byNamespace[namespaceOf(one)], one)
	}
	var writing errgroup.Group
	writing.SetLimit(namespacesAtOnce)
	for _, its := range byNamespace {
		writing.Go(func() error {
			for _, one := range its {
				if !inTime(ctx, one, write) {
					break
				}
			}
			return nil
		})
	}
	_ = writing.Wait() // none fails
}

// inTime writes one, and reports whether the API server has answered in time: sooner than who writes gives up by itself.
func inTime[T any](ctx context.Context, one T, write func(context.Context, T)) bool {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout*9/10)
	defer cancel()
	write(limited, one)
	return limited.Err() == nil
}
