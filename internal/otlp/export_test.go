// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import "time"

// WaitFor has Flush wait so long.
func (s *Sender) WaitFor(patience time.Duration) { s.patience = patience }
