// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/record"
)

// record is the function of that name for items, with so many tries at most.
func (r *Results) record(ctx context.Context, item *v1alpha1.FeedItem, tries int, change func(*v1alpha1.FeedItem) bool) error {
	return record.WriteTrying(ctx, r.Client, r.Live, item, tries, change)
}

// RecordItem is record for results that may end an item: where one makes the item fail for good, the
// same write queues the notifications of that, or one just before it on what has refused the credentials.
func (r *Results) RecordItem(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem, tries int,
	change func(*v1alpha1.FeedItem) bool,
) error {
	return r.withNotifications(ctx, source, change, func(change func(*v1alpha1.FeedItem) bool) error {
		err := r.record(ctx, item, tries, change)
		r.Recordable.Refused(crdcheck.KindItem, err)
		return err
	})
}

// ClaimItem is claim in the same way.
func (r *Results) ClaimItem(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem,
	change func(*v1alpha1.FeedItem) bool,
) error {
	return r.withNotifications(ctx, source, change, func(change func(*v1alpha1.FeedItem) bool) error {
		return record.Claim(ctx, r.Client, item, change)
	})
}

// withNotifications writes a change, with the notifications that it makes due. Where it cannot be found out
// which those are, nothing is written: the change is worked out again, as after any error of the API
// server.
func (r *Results) withNotifications(ctx context.Context, source *v1alpha1.FeedSource, change func(*v1alpha1.FeedItem) bool,
	write func(change func(*v1alpha1.FeedItem) bool) error,
) error {
	var unknown error
	err := write(func(live *v1alpha1.FeedItem) bool {
		unknown = nil
		before := live.Status
		if !change(live) {
			return false
		}
		if !lifecycle.DeadLetter(&before, live) {
			return true
		}
		tell, err := r.notificationTargets(ctx, source, live)
		if err != nil {
			unknown = err
			return false
		}
		lifecycle.Notify(live, tell)
		return true
	})
	if unknown != nil {
		return unknown
	}
	return err
}

// notificationTargets names the destinations that are notified of an item which fails for good now. Where the cause is refused
// credentials, the service that refuses them notifies, once for all items (R3.8).
func (r *Results) notificationTargets(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem) ([]string, error) {
	destinations := make([]string, 0, len(source.Spec.Notifications))
	for _, ref := range source.Spec.Notifications {
		destinations = append(destinations, ref.Name)
	}
	if len(destinations) == 0 || !failedForCredentials(item) {
		return destinations, nil
	}
	for _, by := range lifecycle.Refusals(item) {
		_, revision, why, _ := r.Services.Lookup(itemcache.Refuser(item, by))
		if why == nil || why.Refused == nil {
			continue // its credentials were replaced meanwhile, and the item is retried
		}
		key := client.ObjectKey{Namespace: item.Namespace, Name: by.Name}
		var err error
		if by.Stage == v1alpha1.StageDeliver {
			err = notices.QueueCredentials[v1alpha1.FeedDestination](ctx, r.Client, r.Live, key, revision, destinations)
		} else {
			err = notices.QueueCredentials[v1alpha1.AIProvider](ctx, r.Client, r.Live, key, revision, destinations)
		}
		if client.IgnoreNotFound(err) != nil { // without the service there is no refusal
			return nil, err
		}
	}
	return nil, nil
}

// failedForCredentials reports whether an item has failed for credentials that a provider or a destination
// refuses.
func failedForCredentials(item *v1alpha1.FeedItem) bool {
	return item.Status.Reason == v1alpha1.ReasonAuthenticationFailed && len(lifecycle.Refusals(item)) > 0
}
