// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// longestRedo is the longest wait before the API server is asked again that had no room, where the feed itself is
// polled more often.
const longestRedo = time.Hour

// RefusedForSpace returns the reason with which the API server refuses to write more, and nothing for other errors:
// etcd is full, or a ResourceQuota of the namespace is used up. Neither has an error of its own; the words
// are those of etcd (api/v3rpc/rpctypes) and of the admission plugin ResourceQuota, and have been since 2016.
func RefusedForSpace(err error) string {
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "database space exceeded"):
		return v1alpha1.ReasonStorageFull
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return v1alpha1.ReasonQuotaExceeded
	}
	return ""
}

// redoAfter is how long to wait before a poll is made again that the API server has not taken, after so many in a row
// before it. What is merely busy is asked soon, and less often up to the source's own interval. What has no room
// is not asked sooner than the feed is polled anyway, and then less often up to an hour: somebody has to make room.
func redoAfter(source *v1alpha1.FeedSource, err error, before int) time.Duration {
	if RefusedForSpace(err) == "" {
		return min(polling.EffectiveInterval(redoInterval, before), source.Interval())
	}
	return min(polling.EffectiveInterval(source.Interval(), before), max(source.Interval(), longestRedo))
}

// whyNotCreated returns why entries did not become items, and what to do.
func whyNotCreated(err error, waiting int, next time.Time) (reason, message string) {
	masked, then := failure.Mask(err.Error()), next.UTC().Format(time.RFC3339)
	waits := fmt.Sprintf("%d entries wait in the feed. It goes on when there is room again, which is tried next at %s (annotate the source "+
		"with %s to try at once); what the feed does not list any more by then is lost", waiting, then, v1alpha1.AnnotationPoll)
	switch reason = RefusedForSpace(err); reason {
	case v1alpha1.ReasonStorageFull:
		return reason, "The feed was read, but the database of the cluster (etcd) is full: " + waits +
			". Nothing in the cluster can be written until whoever runs it makes room in etcd: " + masked
	case v1alpha1.ReasonQuotaExceeded:
		return reason, "The feed was read, but a ResourceQuota of the namespace is used up: " + waits +
			". Raise the quota, or lower spec.retention.keepMost and spec.retention.processed so that fewer finished items are kept: " + masked
	}
	return v1alpha1.ReasonItemsNotCreated,
		"The feed was read, but the API server did not accept its entries; retrying soon: " + masked
}
