// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// record is the function of that name for items, with so many tries at most.
func (r *FeedItemReconciler) record(ctx context.Context, item *v1alpha1.FeedItem, tries int, change func(*v1alpha1.FeedItem) bool) error {
	return recordTrying(ctx, r.Client, r.Live, item, tries, change)
}

// recordItem is record for results that may end an item: where one makes the item fail for good, the
// same write queues the notifications of that.
func (r *FeedItemReconciler) recordItem(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem, tries int,
	change func(*v1alpha1.FeedItem) bool,
) error {
	return r.announcing(ctx, source, change, func(change func(*v1alpha1.FeedItem) bool) error {
		return r.record(ctx, item, tries, change)
	})
}

// claimItem is claim in the same way.
func (r *FeedItemReconciler) claimItem(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem,
	change func(*v1alpha1.FeedItem) bool,
) error {
	return r.announcing(ctx, source, change, func(change func(*v1alpha1.FeedItem) bool) error {
		return claim(ctx, r.Client, item, change)
	})
}

// announcing writes a change, with the notifications that it makes due. Where it cannot be found out
// which those are, nothing is written: the change is worked out again, as after any error of the API
// server.
func (r *FeedItemReconciler) announcing(ctx context.Context, source *v1alpha1.FeedSource, change func(*v1alpha1.FeedItem) bool,
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
		notices, err := r.noticesOf(ctx, source, live)
		if err != nil {
			unknown = err
			return false
		}
		lifecycle.Notify(live, notices)
		return true
	})
	if unknown != nil {
		return unknown
	}
	return err
}

// noticesOf says who is to be notified of an item that fails for good now. Where the cause is refused
// credentials, one item speaks for all that fail for the same refusal (R3.8).
func (r *FeedItemReconciler) noticesOf(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem) ([]lifecycle.Notice, error) {
	notices := make([]lifecycle.Notice, 0, len(source.Spec.Notifications))
	for _, ref := range source.Spec.Notifications {
		notices = append(notices, lifecycle.Notice{Destination: ref.Name})
	}
	if len(notices) == 0 || !forCredentials(item) {
		return notices, nil
	}
	for _, by := range lifecycle.Refusals(item) {
		_, revision, why, _ := r.Services.standing(refuser(item, by))
		if why == nil || why.refused == nil {
			continue // it was cured meanwhile, and the item comes back by itself
		}
		err := r.claimNotices(ctx, client.ObjectKey{Namespace: item.Namespace, Name: by.Name}, by.Stage, func(status *v1alpha1.ServiceStatus) []bool {
			return takeNotices(status, notices, item.UID, revision)
		}, func(i int) { notices[i].Occasion += revision + " " })
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(notices, func(notice lifecycle.Notice) bool { return notice.Occasion == "" }), nil
}

// forCredentials says whether an item has failed for credentials that a provider or a destination
// refuses.
func forCredentials(item *v1alpha1.FeedItem) bool {
	return item.Status.Reason == v1alpha1.ReasonAuthenticationFailed && len(lifecycle.Refusals(item)) > 0
}

// claimNotices writes on a service which notices of its refused credentials an item takes on, and calls
// mine for each. It is written before the item is: after a crash in between, the same item takes them on
// again, and no other does.
func (r *FeedItemReconciler) claimNotices(ctx context.Context, key client.ObjectKey, stage v1alpha1.Stage,
	take func(*v1alpha1.ServiceStatus) []bool, mine func(i int),
) error {
	var taken []bool
	var err error
	if stage == v1alpha1.StageDeliver {
		taken, err = claimOn[v1alpha1.FeedDestination](ctx, r.Client, r.Live, key, take)
	} else {
		taken, err = claimOn[v1alpha1.AIProvider](ctx, r.Client, r.Live, key, take)
	}
	for i, yes := range taken {
		if yes && err == nil {
			mine(i)
		}
	}
	return client.IgnoreNotFound(err) // without the service there is no refusal
}

func claimOn[T any, P servicePointer[T]](ctx context.Context, c client.Client, live client.Reader, key client.ObjectKey,
	take func(*v1alpha1.ServiceStatus) []bool,
) (taken []bool, err error) {
	// What the cache shows as taken is taken, so that of many items only the first few write.
	service := P(new(T))
	if err := c.Get(ctx, key, service); err != nil {
		return nil, err
	}
	err = record[T, P](ctx, c, live, service, func(service P) bool {
		taken = take(service.Service())
		return true
	})
	return taken, err
}

// takeNotices notes an item as the one that gives the notices of a refusal which no other item gives,
// and says which of them are its own.
func takeNotices(status *v1alpha1.ServiceStatus, notices []lifecycle.Notice, item types.UID, refused string) []bool {
	refused = cut(refused, 256)
	current := slices.DeleteFunc(slices.Clone(status.CredentialsNotices), func(notice v1alpha1.CredentialsNotice) bool {
		return notice.Refused != refused // of what was refused before
	})
	mine := make([]bool, len(notices))
	for i, notice := range notices {
		at := slices.IndexFunc(current, func(known v1alpha1.CredentialsNotice) bool { return known.Destination == notice.Destination })
		if at < 0 && len(current) < v1alpha1.MaxCredentialsNotices {
			at = len(current)
			current = append(current, v1alpha1.CredentialsNotice{Destination: notice.Destination, Item: item, Refused: refused})
		}
		mine[i] = at >= 0 && current[at].Item == item
	}
	status.CredentialsNotices = current
	return mine
}

// spokenFor names the services whose refusal an item tells a destination of.
func (r *FeedItemReconciler) spokenFor(ctx context.Context, item *v1alpha1.FeedItem, destination string) ([]serviceObject, error) {
	var all, own []serviceObject
	for _, by := range lifecycle.Refusals(item) {
		var service serviceObject = &v1alpha1.AIProvider{}
		if by.Stage == v1alpha1.StageDeliver {
			service = &v1alpha1.FeedDestination{}
		}
		switch err := r.Client.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: by.Name}, service); {
		case client.IgnoreNotFound(err) != nil:
			return nil, err
		case err != nil:
			continue
		}
		all = append(all, service)
		if slices.ContainsFunc(service.Service().CredentialsNotices, func(notice v1alpha1.CredentialsNotice) bool {
			return notice.Item == item.UID && notice.Destination == destination
		}) {
			own = append(own, service)
		}
	}
	if len(own) == 0 {
		return all, nil
	}
	return own, nil
}

// kindOf is the kind of a service, for a person.
func kindOf(service serviceObject) string {
	if _, posts := service.(*v1alpha1.FeedDestination); posts {
		return "FeedDestination"
	}
	return "AIProvider"
}

// credentialsAdvice says what to change so that a service accepts its credentials.
func credentialsAdvice(services []serviceObject) string {
	var where []string
	for _, service := range services {
		if ref := service.SecretRef(); ref != nil && !slices.Contains(where, "Secret "+ref.Name) {
			where = append(where, "Secret "+ref.Name)
		}
	}
	if len(where) == 0 {
		where = []string{"spec"}
	}
	return "To do: correct the " + strings.Join(where, ", ") + ". Within a minute its items are tried again by themselves."
}
