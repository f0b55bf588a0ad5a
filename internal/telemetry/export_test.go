// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

// Emptied is how many sources it is still to be told of that they have no items left.
func (q *QueueLog) Emptied() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.emptied)
}
