// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// byFailing indexes the FeedItems by the services where they have failed in their last attempt.
const byFailing = "status.failedAt"

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
	source, is := object.(*v1alpha1.FeedSource)
	if !is {
		return listBy(ctx, reader, object.GetNamespace(), byFailing, ServiceOf(object).String())
	}
	items, err := OfSource(ctx, reader, source)
	return slices.DeleteFunc(items, func(item v1alpha1.FeedItem) bool { return lifecycle.LastFailure(&item).IsZero() }), err
}
