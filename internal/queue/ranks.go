// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

// The classes of who waits in the schedule, the first before the others.
const (
	ClassUrgent = iota // polls that a person waits for
	ClassPolls         // few, and all else comes from them
	ClassPending
	ClassOthers
)

// ClassNotices come after all deliveries.
const ClassNotices = ClassOthers + 1
