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
)

// setConditions says in conditions what the phase and the reason say, for `kubectl wait` and
// GitOps tools: Ready is always there, Reconciling while the item will be worked on, Stalled when
// only a person can help.
func setConditions(item *v1alpha1.FeedItem, policy Policy, now time.Time) {
	status := &item.Status
	reason := string(status.Reason)
	switch status.Phase {
	case v1alpha1.PhaseProcessed:
		message := "Skipped: the article is larger than the source allows"
		if status.Summary != nil {
			reason, message = v1alpha1.ReasonSucceeded, "Summarized by "+status.Summary.Provider
		}
		setReady(item, metav1.ConditionTrue, reason, message, now)
	case v1alpha1.PhaseFailed:
		setReady(item, metav1.ConditionFalse, reason, failureMessage(status)+
			". Annotate the item with "+v1alpha1.AnnotationRetry+" to try it again", now)
	case v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending:
		if reason == "" {
			reason = v1alpha1.ReasonProgressing
		}
		message := "To be tried now"
		if next := status.NextRetryTime; next != nil && next.After(now) {
			message = fmt.Sprintf("%s. To be tried again at %s (retry %d of %d)", failureMessage(status),
				next.UTC().Format(time.RFC3339), status.RetryCount+1, policy.MaxRetries)
		}
		setReady(item, metav1.ConditionFalse, reason, message, now)
	}
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
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
	message = "" // said once, on Ready
	switch {
	case item.Status.Phase == v1alpha1.PhaseFailed:
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue)
	case !item.Terminal():
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue)
	}
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
