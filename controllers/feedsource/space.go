// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/record"
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

// mostDenied is how many entries in a row a webhook or a policy may refuse until the others are not tried any more: it concerns all of them.
const mostDenied = 20

// refusedByPolicy reports whether a webhook or a policy of the cluster has refused a write, whatever code it gave. Somebody else may change that. A webhook
// that could not be called has judged nothing, and each try takes its whole timeout.
func refusedByPolicy(err error) bool {
	status, is := errors.AsType[*apierrors.StatusError](err)
	return is && record.Denied.MatchString(status.Error()) &&
		!strings.HasPrefix(strings.TrimPrefix(status.Error(), "Internal error occurred: "), "failed calling webhook ")
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

// notCreated says that the feed was read and that entries could not become items, why, and what to do. Waiting is how many of them are known to wait in
// the feed, until next.
func notCreated(err error, waiting int, next time.Time) conditions.Readiness {
	masked, then := failure.Mask(err.Error()), next.UTC().Format(time.RFC3339)
	waits := fmt.Sprintf("%d entries wait in the feed. It goes on when there is room again, which is tried next at %s (annotate the source "+
		"with %s to try at once); what the feed does not list any more by then is lost", waiting, then, v1alpha1.AnnotationPoll)
	said := conditions.Readiness{Reason: RefusedForSpace(err), Retrying: true}
	switch {
	case said.Reason == v1alpha1.ReasonStorageFull:
		said.Message = "The feed was read, but the database of the cluster (etcd) is full: " + waits +
			". Nothing in the cluster can be written until whoever runs it makes room in etcd: " + masked
	case said.Reason == v1alpha1.ReasonQuotaExceeded && strings.Contains(err.Error(), "feedmemories."+v1alpha1.GroupVersion.Group):
		said.Message = "The feed was read, but a ResourceQuota of the namespace leaves no room for the FeedMemory that says what was seen of it. " +
			"Raise the quota of feedmemories; that is tried next at " + then + ": " + masked
	case said.Reason == v1alpha1.ReasonQuotaExceeded:
		said.Message = "The feed was read, but a ResourceQuota of the namespace is used up: " + waits +
			". Raise the quota, or lower spec.retention.keepMost and spec.retention.processed so that fewer finished items are kept: " + masked
	case refusedByPolicy(err):
		said.Reason = v1alpha1.ReasonItemsNotCreated
		said.Message = fmt.Sprintf("The feed was read, but a webhook or a policy of the cluster refuses new items: "+
			"%d entries wait in the feed. Have it let them pass, or drop such entries by spec.filters; they are tried next at %s, "+
			"and what the feed does not list any more by then is lost: %s", waiting, then, masked)
	default:
		said.Reason = v1alpha1.ReasonItemsNotCreated
		said.Message = "The feed was read, but the API server did not accept its entries; retrying soon: " + masked
	}
	return said
}
