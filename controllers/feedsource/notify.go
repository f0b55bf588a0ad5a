// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/notices"
)

// checkNotifications reports on a source which of its spec.notifications gets no notifications,
// before anything has failed. It costs a write only when that changes, and stops nothing.
func (r *Reconciler) checkNotifications(ctx context.Context, source *v1alpha1.FeedSource) error {
	var problems []string
	reason := ""
	for _, ref := range source.Spec.Notifications {
		var described v1alpha1.FeedDestination
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: source.Namespace, Name: ref.Name}, &described)
		switch {
		case apierrors.IsNotFound(err):
			problems = append(problems, fmt.Sprintf("FeedDestination %q does not exist in this namespace: its notifications wait", ref.Name))
			if reason == "" {
				reason = v1alpha1.ReasonDestinationMissing
			}
		case err != nil:
			return err
		default:
			if refused, why := notices.Refuses(&described); why != "" {
				problems, reason = append(problems, why), refused
			}
		}
	}
	message := strings.Join(problems, "; ")
	said := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionNotificationsBlocked)
	if said == nil && message == "" || said != nil && said.Message == message {
		return nil
	}
	return r.write(ctx, source, func(source *v1alpha1.FeedSource) {
		setFirstPoll(source, r.Clock.Now())
		note(source, v1alpha1.ConditionNotificationsBlocked, reason, message, r.Clock.Now())
	})
}

// sourcesNotifying names the sources that have a destination notified of what fails.
func (r *Reconciler) sourcesNotifying(ctx context.Context, object client.Object) []reconcile.Request {
	var sources v1alpha1.FeedSourceList
	if err := r.Client.List(ctx, &sources, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the sources of a changed destination", "destination", object.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range sources.Items {
		if sources.Items[i].Notifies(object.GetName()) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sources.Items[i])})
		}
	}
	return requests
}
