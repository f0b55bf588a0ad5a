// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// gone is the HTTP status of a document that has been removed for good (RFC 9110, 15.5.11).
const gone = 410

// PollReason is the reason that a source's condition gives for a poll that has failed.
func PollReason(cause *failure.Error) string {
	switch {
	case cause.Status == gone:
		return v1alpha1.ReasonFeedGone
	case cause.Type == failure.TypeNotAFeed:
		return v1alpha1.ReasonNotAFeed
	}
	return v1alpha1.ReasonPollFailed
}
