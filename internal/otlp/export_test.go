// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"time"
)

// WaitFor has Flush wait so long.
func (s *Sender) WaitFor(patience time.Duration) { s.patience = patience }

// Now sends what waits.
func (s *Sender) Now(ctx context.Context) error { return s.provider.ForceFlush(ctx) }
