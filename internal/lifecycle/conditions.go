// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
)

// setConditions reports in conditions what the phase and the reason say, for `kubectl wait` and
// GitOps tools: Ready is always there, Reconciling while the item will be worked on, Stalled when
// only a person can help.
func setConditions(item *v1alpha1.FeedItem, policy backoff.Policy, now time.Time) {
	status := &item.Status
	reason := string(status.Reason)
	switch status.Phase {
	case v1alpha1.PhaseProcessed:
		message := "Skipped: the article is larger than the source allows"
		switch {
		case status.Summary != nil:
			reason, message = v1alpha1.ReasonSucceeded, "Summarized by "+status.Summary.Provider+delivered(status)
		case status.Reason == v1alpha1.ReasonAlreadyPosted:
			message = "Skipped: the same entry of the feed was" + postedBefore(status) + ". alreadyPosted: PostAgain, at the destination " +
				"in spec.destinations of the source, has such entries posted again"
		case status.Reason == v1alpha1.ReasonNotValuable:
			message = "Skipped as " + notWorth(status)
		case status.Reason == v1alpha1.ReasonNoContent:
			message = "Skipped: the feed gives no content and no headline for this entry, and there is no page to be read. " +
				"Where it has a link, spec.article.source Auto or Page of the source has that read"
		}
		setReady(item, metav1.ConditionTrue, reason, message, now)
	case v1alpha1.PhaseFailed:
		next := ". Annotate the item with " + v1alpha1.AnnotationRetry + " to retry it"
		if status.Reason == v1alpha1.ReasonAuthenticationFailed {
			next = ". It is retried when the credentials are replaced"
		}
		setReady(item, metav1.ConditionFalse, reason, failureMessage(status)+outcomes(status)+next, now)
	case v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending:
		if reason == "" {
			reason = v1alpha1.ReasonProgressing
		}
		setReady(item, metav1.ConditionFalse, reason, openMessage(status, policy, now), now)
	}
}

// openMessage returns what an item is at, and what happens next.
func openMessage(status *v1alpha1.FeedItemStatus, policy backoff.Policy, now time.Time) string {
	next := status.NextRetryTime
	switch {
	case status.Summary != nil && status.Phase == v1alpha1.PhasePending:
		message := "Summarized by " + status.Summary.Provider + openDestinations(status, ", to be posted to ")
		if status.Failure != nil {
			message += ". Last failure: " + failureMessage(status)
		}
		return message
	case status.Phase == v1alpha1.PhasePending:
		return "Worth a summary, which is written next"
	case next == nil || !next.After(now):
		return "Due now"
	case status.Summary != nil:
		return fmt.Sprintf("%s. Next retry at %s%s", failureMessage(status),
			next.UTC().Format(time.RFC3339), openDestinations(status, "; still open: "))
	case status.Reason == v1alpha1.ReasonNotValuable:
		return fmt.Sprintf("Found %s. Next check at %s (%s)", notWorth(status),
			next.UTC().Format(time.RFC3339), nextRetryOf(status, policy))
	}
	return fmt.Sprintf("%s. Next retry at %s (%s)", failureMessage(status),
		next.UTC().Format(time.RFC3339), nextRetryOf(status, policy))
}

// nextRetryOf returns which retry is the next. There may be more than the policy has, for providers that
// were not asked yet.
func nextRetryOf(status *v1alpha1.FeedItemStatus, policy backoff.Policy) string {
	next := int(status.RetryCount) + 1
	if next > policy.MaxRetries {
		return fmt.Sprintf("retry %d", next)
	}
	return fmt.Sprintf("retry %d of %d", next, policy.MaxRetries)
}

func notWorth(status *v1alpha1.FeedItemStatus) string {
	if status.Screening == nil {
		return "not worth a summary"
	}
	return "not worth a summary: " + strings.TrimRight(explained(status.Screening), ".")
}

// delivered names where a summary was posted.
func delivered(status *v1alpha1.FeedItemStatus) string {
	now := listOf(status, ", posted to ", func(row *v1alpha1.Delivery) bool { return row.State == v1alpha1.DeliveryDone })
	if before := postedBefore(status); before != "" {
		now += "; its entry was" + before
	}
	return now
}

// postedBefore names where the entry was posted as another item.
func postedBefore(status *v1alpha1.FeedItemStatus) string {
	return listOf(status, " posted before to ", func(row *v1alpha1.Delivery) bool { return row.State == v1alpha1.DeliveryAlreadyPosted })
}

// outcomes reports for an item that has failed at a destination what has become of its deliveries.
func outcomes(status *v1alpha1.FeedItemStatus) string {
	return listOf(status, ". Not posted to ", func(row *v1alpha1.Delivery) bool {
		return row.State == v1alpha1.DeliveryDead && !uncertain(row)
	}) + listOf(status, ". Posted to ", func(row *v1alpha1.Delivery) bool { return row.State == v1alpha1.DeliveryDone })
}

func openDestinations(status *v1alpha1.FeedItemStatus, intro string) string {
	return listOf(status, intro, func(row *v1alpha1.Delivery) bool { return !row.Ended() })
}

func listOf(status *v1alpha1.FeedItemStatus, intro string, which func(*v1alpha1.Delivery) bool) string {
	var names []string
	for i := range status.Deliveries {
		if which(&status.Deliveries[i]) {
			names = append(names, status.Deliveries[i].Destination)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return intro + strings.Join(names, ", ")
}

func setReady(item *v1alpha1.FeedItem, ready metav1.ConditionStatus, reason, message string, now time.Time) {
	conditions := &item.Status.Conditions
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message,
			ObservedGeneration: item.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	set(v1alpha1.ConditionReady, ready)
	message = "" // said once, on Ready
	setOrRemove := func(kind string, holds bool) {
		if holds {
			set(kind, metav1.ConditionTrue)
			return
		}
		meta.RemoveStatusCondition(conditions, kind)
	}
	setOrRemove(v1alpha1.ConditionStalled, item.Status.Phase == v1alpha1.PhaseFailed)
	setOrRemove(v1alpha1.ConditionReconciling, !item.Terminal())
}

func readyMessage(item *v1alpha1.FeedItem) string {
	if ready := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}

func failureMessage(status *v1alpha1.FeedItemStatus) string {
	if status.Failure == nil {
		return "Not done yet"
	}
	return strings.TrimRight(status.Failure.Message, ".")
}
