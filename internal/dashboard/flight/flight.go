// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flight has those who want the same thing at the same time wait for one call of it.
//
// It knows nothing of what is called.
package flight

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"
)

// Group are calls that return a T. The zero value is one without any.
type Group[T any] struct{ calls singleflight.Group }

// Do calls a function, or waits for the call that is under way under the same name. The call belongs to nobody: it goes on when one who waits goes away, and
// ends with its own timeout. One that panics returns an error: it must not end the process, as singleflight has it.
func (g *Group[T]) Do(ctx context.Context, name string, timeout time.Duration, call func(context.Context) (T, error)) (result T, err error) {
	answer := g.calls.DoChan(name, func() (made any, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		defer func() {
			if what := recover(); what != nil {
				made, err = nil, fmt.Errorf("panicked: %v\n%s", what, debug.Stack())
			}
		}()
		return call(ctx)
	})
	select {
	case got := <-answer:
		result, _ = got.Val.(T)
		return result, got.Err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}
