// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiclock

import "time"

// monotonic returns what says how much time has passed since, whatever the clock is set to.
func monotonic() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
