// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// byFailing indexes the FeedItems by the services where they have failed in their last attempt.
const byFailing = "status.failedAt"

// failedAtOf names the services where an item has failed in its last attempt.
func failedAtOf(item *v1alpha1.FeedItem) []string {
	failings := lifecycle.Failings(item)
	names := make([]string, 0, len(failings))
	for _, at := range failings {
		names = append(names, Refuser(item, lifecycle.Refusal(at)).String())
	}
	return names
}

// slimFailures is what the cached form of a finished item keeps of its failures: where they were, and
// when. A person may retry all that has failed there.
func slimFailures(item *v1alpha1.FeedItem) ([]v1alpha1.ProviderFailure, []v1alpha1.Delivery) {
	if item.Status.Phase != v1alpha1.PhaseFailed {
		return nil, nil
	}
	rows := make([]v1alpha1.Delivery, 0, len(item.Status.Deliveries))
	for _, row := range item.Status.Deliveries {
		slim := v1alpha1.Delivery{Destination: shared(row.Destination), State: row.State, NotAfter: row.NotAfter}
		if row.Failure != nil {
			slim.Failure = &v1alpha1.Failure{Category: row.Failure.Category, Type: row.Failure.Type, Time: row.Failure.Time}
		}
		rows = append(rows, slim)
	}
	return item.Status.ProviderFailures, rows
}

// FailedOf lists the cached items that have failed at a service, or of a source. They are slim and shared: read, never change or write them.
func FailedOf(ctx context.Context, reader client.Reader, object client.Object) ([]v1alpha1.FeedItem, error) {
	key := client.ObjectKeyFromObject(object)
	switch parent := object.(type) {
	case *v1alpha1.AIProvider:
		return listBy(ctx, reader, key.Namespace, byFailing, schedule.Provider(key).String())
	case *v1alpha1.FeedDestination:
		return listBy(ctx, reader, key.Namespace, byFailing, schedule.Destination(key).String())
	case *v1alpha1.FeedSource:
		items, err := OfSource(ctx, reader, parent)
		var failed []v1alpha1.FeedItem
		for i := range items {
			if !lifecycle.LastFailure(&items[i]).IsZero() {
				failed = append(failed, items[i])
			}
		}
		return failed, err
	}
	return nil, nil
}
