// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// pair is two replicas of one shard: the first holds its Lease, the second stands by.
type pair struct {
	first, second *rig.Manager
	// line is how the first reaches the API server.
	line *rig.Line
}

// startPair starts both, on one namespace, where their Lease is as well.
func startPair(ctx context.Context, p *rig.Plane, namespace string) (_ *pair, err error) {
	of := &pair{}
	defer func() {
		if err != nil {
			of.stop(ctx)
		}
	}()
	if of.line, err = p.NewLine(ctx); err != nil {
		return nil, err
	}
	of.first, err = rig.StartManager(ctx, p, namespace, append(elected(namespace, 1), "--kubeconfig="+of.line.Kubeconfig)...)
	if err != nil {
		return nil, err
	}
	if err := of.first.Explain(untilHeld(ctx, p, namespace, 1, 1)); err != nil {
		return nil, err
	}
	of.second, err = rig.StartManager(ctx, p, namespace, elected(namespace, 1)...)
	return of, err
}

// untilReady lets the second read what there is.
func (of *pair) untilReady(ctx context.Context) error { return rig.Pause(ctx, 5*time.Second) }

// wake has the first go on where it is frozen, and waits until it has ended: whoever has lost the Lease does so by itself.
func (of *pair) wake(ctx context.Context) error {
	select {
	case <-of.first.Done():
		return nil
	default:
	}
	if err := syscall.Kill(of.first.PID(), syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return of.first.Explain(await(ctx, of.first.Done()))
}

// stop ends both, also where the first is frozen or cut off.
func (of *pair) stop(ctx context.Context) {
	if of.second != nil {
		of.second.Stop(ctx)
	}
	if of.first != nil {
		_ = syscall.Kill(of.first.PID(), syscall.SIGKILL)
		of.first.Stop(ctx)
	}
	if of.line != nil {
		of.line.Close()
	}
}
