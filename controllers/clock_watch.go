// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/internal/apiclock"
)

const (
	// lookAtClock is how often it is looked whether the API server's clock was set.
	lookAtClock = 10 * time.Second
	// setClock is by how much it must have been set to matter.
	setClock = 5 * time.Second
)

// clockWatch has everything looked at again when the API server's clock was set. What waits, waits by timers of the machine, for as long
// as it was when they were set: where the clock was a day behind for a moment, and is set right, that would be a day too long.
type clockWatch struct {
	clock clock.Clock
	log   logr.Logger
	// wakeAll has everything looked at.
	wakeAll func(context.Context)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *clockWatch) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (c *clockWatch) Start(ctx context.Context) error {
	for before := c.offset(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-c.clock.After(lookAtClock):
		}
		now := c.offset()
		if by := now - before; by.Abs() >= setClock {
			c.log.Info("The API server's clock was set: everything is looked at again", "by", by)
			before = now
			c.wakeAll(ctx)
		}
	}
}

// offset is what time it is, less what has passed: it changes when the clock is set.
func (c *clockWatch) offset() time.Duration {
	return c.clock.Now().Sub(time.Unix(0, 0)) - apiclock.PassedBy(c.clock)
}
