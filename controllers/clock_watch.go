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
	// clockCheckInterval is how often it is looked whether the API server's clock was set.
	clockCheckInterval = 10 * time.Second
	// clockJump is by how much it must have been set to matter.
	clockJump = 5 * time.Second
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
		case <-c.clock.After(clockCheckInterval):
		}
		now := c.offset()
		if by := now - before; by.Abs() >= clockJump {
			c.log.Info("API server clock was set, requeued everything", "by", by)
			before = now
			c.wakeAll(ctx)
		}
	}
}

// offset is what time it is, less what has passed: it changes when the clock is set.
func (c *clockWatch) offset() time.Duration {
	return c.clock.Now().Sub(time.Unix(0, 0)) - apiclock.PassedBy(c.clock)
}
