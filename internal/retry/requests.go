// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
)

// Asked is when what had failed was last to be retried: by a request, and with new credentials.
func Asked(object client.Object) []time.Time {
	switch parent := object.(type) {
	case *v1alpha1.FeedSource:
		return []time.Time{believable.TimeOf(parent.Status.RetryRequested())}
	case v1alpha1.ServiceObject:
		return []time.Time{believable.TimeOf(parent.Service().RetryRequested()), believable.TimeOf(parent.Service().CredentialsRestored())}
	}
	return nil
}

// AskedNow lets through what a person has asked to have retried just now, or whose refused credentials were replaced.
var AskedNow = queue.Updated(func(before, after client.Object) bool {
	return !slices.EqualFunc(Asked(before), Asked(after), time.Time.Equal)
})

// RequestsFor are those that may concern an item, or an attempt at it that has failed at providers.
func RequestsFor(ctx context.Context, reader client.Reader, item *v1alpha1.FeedItem, failures ...v1alpha1.ProviderFailure) lifecycle.RetryRequests {
	known := lifecycle.RetryRequests{Providers: map[string]time.Time{}, Destinations: map[string]time.Time{}}
	if source, err := itemcache.SourceOf(ctx, reader, item); err == nil && source != nil {
		known.Source = believable.TimeOf(source.Status.RetryRequested())
	}
	forced := func(service v1alpha1.ServiceObject, name string) time.Time {
		return RequestedAt(ctx, reader, service, item.Namespace, name)
	}
	if item.Status.Summary == nil {
		for _, failed := range append(failures, item.Status.ProviderFailures...) {
			known.Providers[failed.Name] = forced(&v1alpha1.AIProvider{}, failed.Name)
		}
	}
	for i := range item.Status.Deliveries {
		name := item.Status.Deliveries[i].Destination
		known.Destinations[name] = forced(&v1alpha1.FeedDestination{}, name)
	}
	return known
}

// ServedBy are those that an attempt at a batch with an item serves whose outcome is written now: all but those that came after it had failed. A batch that
// has failed says so for after those that it serves (ServedByBatch).
func ServedBy(ctx context.Context, reader client.Reader, item *v1alpha1.FeedItem, outcome *lifecycle.DeliveryOutcome) lifecycle.RetryRequests {
	known := RequestsFor(ctx, reader, item)
	if outcome.Failure == nil {
		return known
	}
	failed := outcome.Failure.Time.Time
	if known.Source.After(failed) {
		known.Source = time.Time{}
	}
	maps.DeleteFunc(known.Destinations, func(_ string, at time.Time) bool { return at.After(failed) })
	return known
}

// ServedByBatch is the last request that an attempt at a batch serves which begins now: of its destination, or of a source that names that; zero for none.
func ServedByBatch(ctx context.Context, reader client.Reader, destination *v1alpha1.FeedDestination) time.Time {
	last := believable.TimeOf(destination.Status.RetryRequested())
	var sources v1alpha1.FeedSourceList
	if err := reader.List(ctx, &sources, client.InNamespace(destination.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return last // those that are not known are served by another attempt
	}
	for i := range sources.Items {
		if source := &sources.Items[i]; source.Delivers(destination.Name) {
			if at := believable.TimeOf(source.Status.RetryRequested()); at.After(last) {
				last = at
			}
		}
	}
	return last
}

// RequestedAt is when somebody last asked for a retry of what has failed at a service.
func RequestedAt(ctx context.Context, reader client.Reader, service v1alpha1.ServiceObject, namespace, name string) time.Time {
	if err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, service); err != nil {
		return time.Time{} // not there, so nobody has asked
	}
	return believable.TimeOf(service.Service().RetryRequested())
}

// RestoredBy returns a function that knows when credentials that were refused have been replaced last.
func RestoredBy(ctx context.Context, reader client.Reader, namespace string) func(v1alpha1.Stage, string) time.Time {
	return func(stage v1alpha1.Stage, name string) time.Time {
		var service v1alpha1.ServiceObject = &v1alpha1.AIProvider{}
		if stage == v1alpha1.StageDeliver {
			service = &v1alpha1.FeedDestination{}
		}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, service); err != nil {
			return time.Time{} // not there, so not replaced
		}
		return believable.TimeOf(service.Service().CredentialsRestored())
	}
}
