// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// checkWrites reports on a source that nothing is taken that is written on its items, or that this is over. Where that is refused
// too, the source is polled all the same, and says it when it is looked at the next time.
func (r *Reconciler) checkWrites(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState) {
	message := ""
	if answer := r.Writes.Refusal(source.Namespace); answer != "" {
		message = "The API server refuses updates of the FeedItems of this namespace, so no provider is called for them, nothing is posted, " +
			"and results are kept in memory until they are accepted. Most likely a webhook, a policy or a quota refuses them. Its answer: " + answer
	}
	said := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionItemsHeld) != nil
	behind := !said && watch.saysHeld // what is cached is from before this process has said it
	if (said || behind) == (message != "") {
		return // the words may differ from one refusal to the next; that one is told is enough
	}
	if behind {
		var live v1alpha1.FeedSource
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(source), &live); err != nil || live.UID != source.UID {
			return
		}
		*source = live
	}
	err := r.write(ctx, source, func(source *v1alpha1.FeedSource) {
		setFirstPoll(source, r.Clock.Now())
		note(source, v1alpha1.ConditionItemsHeld, v1alpha1.ReasonWritesRefused, message, r.Clock.Now())
	})
	if err == nil {
		watch.saysHeld = message != ""
	} else {
		ctrl.LoggerFrom(ctx).Info("Failed to update the condition ItemsHeld of a source", "error", err.Error())
	}
}
