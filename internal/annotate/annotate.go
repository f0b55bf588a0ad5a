// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package annotate asks the operator for something, as a person does with `kubectl annotate`: to poll a
// source now, or to try again what has failed.
//
// It writes annotations and nothing else.
package annotate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// Target parses what is to be tried again: the name of an item, or a kind and a name such as
// source/press. The kinds go by the names that kubectl knows, and by item, source, provider and
// destination.
func Target(argument string) (client.Object, error) {
	kind, name, ok := strings.Cut(argument, "/")
	if !ok {
		kind, name = "item", argument
	}
	var object client.Object
	switch strings.ToLower(kind) {
	case "item", "items", "feeditem", "feeditems", "fi", "feeditem.feeds.feed-operator.io":
		object = &v1alpha1.FeedItem{}
	case "source", "sources", "feedsource", "feedsources", "fsrc", "feedsource.feeds.feed-operator.io":
		object = &v1alpha1.FeedSource{}
	case "provider", "providers", "aiprovider", "aiproviders", "aip", "aiprovider.feeds.feed-operator.io":
		object = &v1alpha1.AIProvider{}
	case "destination", "destinations", "feeddestination", "feeddestinations", "fdst", "feeddestination.feeds.feed-operator.io":
		object = &v1alpha1.FeedDestination{}
	default:
		return nil, fmt.Errorf("%q cannot be retried: name an item, source/NAME, provider/NAME or destination/NAME", argument)
	}
	if name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q has no name after the kind", argument)
	}
	object.SetName(name)
	return object, nil
}

// Retry has something tried again, once for each token, and reports what comes of it.
func Retry(ctx context.Context, c client.Client, object client.Object, token string) (said string, err error) {
	if err := set(ctx, c, object, v1alpha1.AnnotationRetry, token); err != nil {
		return "", err
	}
	switch object := object.(type) {
	case *v1alpha1.FeedSource:
		return "source/" + object.Name + ": its deferred and failed items are retried", nil
	case *v1alpha1.AIProvider:
		return "provider/" + object.Name + ": its pauses end, and the items whose last attempt failed there are retried", nil
	case *v1alpha1.FeedDestination:
		return "destination/" + object.Name + ": its pauses end, and the items whose last attempt failed there are retried", nil
	case *v1alpha1.FeedItem:
		return "item/" + object.Name + ": " + forItem(object), nil
	}
	return "", fmt.Errorf("%T cannot be retried", object)
}

// forItem returns what a retry does to an item.
func forItem(item *v1alpha1.FeedItem) string {
	switch {
	case item.Status.Phase == v1alpha1.PhaseProcessed && item.Status.Summary != nil:
		return "it is processed, nothing to retry"
	case item.Status.Phase == v1alpha1.PhaseProcessed:
		return "it is looked at again"
	case item.Status.Phase == v1alpha1.PhaseFailed:
		return "it is retried, with all its retries"
	}
	return "it is tried now, as soon as what it needs is available"
}

// Poll has a source polled now.
func Poll(ctx context.Context, c client.Client, source *v1alpha1.FeedSource, token string) (said string, err error) {
	if err := set(ctx, c, source, v1alpha1.AnnotationPoll, token); err != nil {
		return "", err
	}
	if source.Spec.Suspend {
		return "source/" + source.Name + ": it is suspended, so it is polled when that ends", nil
	}
	return "source/" + source.Name + ": it is polled now", nil
}

// Failed reports whether a retry would have an item worked on that has not gone well: it failed for good, or
// waits after a failure.
func Failed(item *v1alpha1.FeedItem) bool {
	switch item.Status.Phase {
	case v1alpha1.PhaseFailed, v1alpha1.PhaseDeferred:
		return true
	case v1alpha1.PhasePending:
		return item.Status.Failure != nil || slices.ContainsFunc(item.Status.Deliveries, func(row v1alpha1.Delivery) bool { return row.Failure != nil })
	case v1alpha1.PhaseUnprocessed, v1alpha1.PhaseProcessed:
	}
	return false
}

// set writes an annotation. Who else writes to the object meanwhile is not in its way.
func set(ctx context.Context, c client.Client, object client.Object, annotation, token string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: lifecycle.TokenOf(token)}}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}
