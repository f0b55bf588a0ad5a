// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Patience is how long anything that must happen is waited for before the benchmark gives up.
const Patience = 5 * time.Minute

// Until waits for a condition.
func Until(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, Patience, true, condition)
}

// UntilSeldom is Until for a condition that costs the API server much to look at.
func UntilSeldom(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 2*time.Second, Patience, true, condition)
}

// Pause waits, unless the benchmark is stopped.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Each does something for all numbers below count, several at a time, until one of them fails.
func Each(ctx context.Context, count, atOnce int, do func(ctx context.Context, number int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for number := range count {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, number) })
	}
	return group.Wait()
}

// Progress tells a person what takes so long.
func Progress(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
}
