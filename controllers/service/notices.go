// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// sendNotices sends the notices of a service that are due, whatever has become of the items that have failed for it, and
// returns when to look again; zero: somebody else sees to that.
func (r *Reconciler[T, P, C]) sendNotices(ctx context.Context, turn *schedule.Turn, id schedule.Resource, found P) (next time.Time, err error) {
	now := r.Clock.Now()
	for _, notice := range slices.Clone(found.Service().CredentialsNotices) {
		at, open := lifecycle.NotificationDue(&notice.Notification, now)
		if !open || r.Notifier.Work.UnderWay(found, notice.Destination) {
			continue
		}
		if at.After(now) {
			next = queue.Earliest(next, at)
			continue
		}
		wanted, err := r.stillNotified(ctx, found.GetNamespace(), notice.Destination)
		if err != nil {
			return time.Time{}, err
		}
		if !wanted {
			unwanted := lifecycle.NotificationOutcome{
				Destination: notice.Destination, Key: notice.Key, FailedAttempts: notice.FailedAttempts, Unwanted: true,
			}
			if err := r.recordNotice(ctx, found, unwanted); err != nil {
				return time.Time{}, err
			}
			continue
		}
		begun, err := r.Notifier.Begin(ctx, turn, r.notification(id, found, notice.Notification))
		if err != nil {
			return time.Time{}, err
		}
		next = queue.Earliest(next, begun)
	}
	return next, nil
}

// stillNotified reports whether any source of a namespace still has a destination notified of what fails.
func (r *Reconciler[T, P, C]) stillNotified(ctx context.Context, namespace, destination string) (bool, error) {
	var sources v1alpha1.FeedSourceList
	err := r.Client.List(ctx, &sources, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	return slices.ContainsFunc(sources.Items, func(source v1alpha1.FeedSource) bool { return source.Notifies(destination) }), err
}

// notification is a notice of a service, as it is sent.
func (r *Reconciler[T, P, C]) notification(id schedule.Resource, found P, row v1alpha1.Notification) *notices.Notification {
	object, _ := found.DeepCopyObject().(P) // it goes on after the reconcile
	key, uid := client.ObjectKeyFromObject(found), found.GetUID()
	return &notices.Notification{
		Notification: row,
		About:        object,
		Rank: schedule.Rank{
			Class: queue.ClassNotices, Time: object.GetCreationTimestamp().Time, Name: key.String(), Owner: schedule.Owner{Tenant: key.Namespace},
		},
		Text: func(ctx context.Context) (*destination.Notice, error) {
			live := P(new(T)) // what is in the cache may be from before the last attempt
			if err := r.Live.Get(ctx, key, live); err != nil {
				return nil, client.IgnoreNotFound(err)
			}
			notice := lifecycle.CredentialsNoticeTo(live.Service(), row.Destination)
			if live.GetUID() != uid || notice == nil || !notices.StillQueued(&notice.Notification, &row) {
				return nil, nil
			}
			object = live
			return r.refusalOf(id, live), nil
		},
		// There may be no item any more that finds out; and whether a service can be written on is another question.
		Held: func(ctx context.Context) bool {
			err := r.recordDue(ctx, object, &row)
			if err != nil {
				ctrl.LoggerFrom(ctx).V(1).Info("Notice postponed while the API server refuses writes", "error", err.Error())
			}
			return err != nil
		},
		Began: func(time.Time) {},
		Record: func(ctx context.Context, outcome lifecycle.NotificationOutcome) error {
			return r.recordNotice(ctx, object, outcome)
		},
		RequeueAfter: func(after time.Duration) { r.Waker.ServiceLater(id, after) },
	}
}

// recordDue writes on a service that a notice is due now, which shows that this can be written on it.
func (r *Reconciler[T, P, C]) recordDue(ctx context.Context, found P, row *v1alpha1.Notification) error {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	now := metav1.NewTime(r.Clock.Now().Truncate(time.Second))
	err := record.Write[T, P](ctx, r.Client, r.Live, found, func(live P) bool {
		notice := lifecycle.CredentialsNoticeTo(live.Service(), row.Destination)
		if notice == nil || !notices.StillQueued(&notice.Notification, row) {
			return false
		}
		notice.NextRetryTime = &now
		return true
	})
	return client.IgnoreNotFound(err)
}

// recordNotice writes down what a notice has come to, whatever happened to the service meanwhile, and logs it.
func (r *Reconciler[T, P, C]) recordNotice(ctx context.Context, found P, outcome lifecycle.NotificationOutcome) error {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	now := r.Clock.Now()
	var settled *v1alpha1.CredentialsNotice
	err := record.Write[T, P](ctx, r.Client, r.Live, found, func(live P) bool {
		settled = nil
		if !lifecycle.SettleCredentialsNotice(live.Service(), live.GetUID(), outcome, now) {
			return false
		}
		settled = lifecycle.CredentialsNoticeTo(live.Service(), outcome.Destination)
		return true
	})
	if err != nil || settled == nil {
		return client.IgnoreNotFound(err)
	}
	log := ctrl.LoggerFrom(ctx).WithValues("destination", settled.Destination)
	switch {
	case settled.State == v1alpha1.NotificationDone:
		log.Info("Notice of refused credentials sent", "url", settled.URL)
	case settled.State == v1alpha1.NotificationQueued:
		next, _ := lifecycle.NotificationDue(&settled.Notification, now)
		log.Info("Notice of refused credentials failed, will retry", "error", settled.Failure.Message, "nextRetryTime", next)
	default:
		log.Info("Notice of refused credentials given up", "severity", "warning", "error", settled.Failure.Message)
	}
	return nil
}

// refusalOf is the notification of a service that refuses its credentials.
func (r *Reconciler[T, P, C]) refusalOf(id schedule.Resource, service P) *destination.Notice {
	facts, said := "", ""
	if last := service.Service().LastFailure; last != nil {
		said = last.Message
		facts = "Refused since: " + last.Time.UTC().Format("2006-01-02 15:04:05 UTC") + ". "
	}
	if _, _, why, _ := r.Services.Lookup(id); why != nil && why.Refused != nil {
		said = why.Refused.Error() // a call that ended later may have failed in another way
	}
	where := "spec"
	if ref := service.SecretRef(); ref != nil {
		where = "Secret " + ref.Name
	}
	return &destination.Notice{
		Subject: fmt.Sprintf("Credentials refused: %s %s/%s", kindOf(service), service.GetNamespace(), service.GetName()),
		Error:   failure.Mask(said),
		Facts:   facts + "All items that need them fail until they are changed; you are notified once.",
		Advice:  "To do: correct the " + where + ". Its items are then retried within a minute.",

		Namespace: service.GetNamespace(),
	}
}

// kindOf is the kind of a service.
func kindOf(service v1alpha1.ServiceObject) string {
	if _, posts := service.(*v1alpha1.FeedDestination); posts {
		return crdcheck.KindDestination
	}
	return crdcheck.KindProvider
}
