// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry reads what a person asks for by the retry annotation of an object: that all which has failed there is tried again.
//
// It knows tokens and the times of failures. What is tried again, and when, is the items' (package lifecycle).
package retry

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// Request is what a person asks for by the retry annotation of a source, a provider or a destination:
// that all which has failed there is tried again. One write says when that was asked for; the items
// compare it with the times of their failures (R3.7).
type Request struct {
	// Token that was found on the object, and the last that was acted on.
	Token, Last string
	// Items are how many it concerns, and failed is when the last of them has failed.
	Items  int
	failed time.Time
	// Noted is set if it was written down.
	Noted bool
}

// Token is the value of the retry annotation, in the form in which it is compared and kept.
func Token(object client.Object) string {
	return lifecycle.TokenOf(object.GetAnnotations()[v1alpha1.AnnotationRetry])
}

// IsNew reports whether the request was not acted on yet.
func (a *Request) IsNew() bool { return a.Token != "" && a.Token != a.Last }

// Concern finds out which items a retry concerns. They may have failed a moment ago.
func (a *Request) Concern(ctx context.Context, reader client.Reader, object client.Object) error {
	items, err := itemcache.FailedOf(ctx, reader, object)
	a.Items = len(items)
	for i := range items {
		if last := lifecycle.LastFailure(&items[i]); last.After(a.failed) {
			a.failed = last
		}
	}
	switch parent := object.(type) {
	case *v1alpha1.FeedDestination:
		a.concernBatches(parent)
	case *v1alpha1.FeedSource:
		for _, ref := range parent.Spec.Destinations {
			var destination v1alpha1.FeedDestination
			if unread := reader.Get(ctx, client.ObjectKey{Namespace: parent.Namespace, Name: ref.Name}, &destination); client.IgnoreNotFound(unread) != nil {
				return unread
			}
			a.concernBatches(&destination)
		}
	}
	return err
}

// concernBatches finds out when batches of a destination have failed last. It may not stand on their items yet.
func (a *Request) concernBatches(destination *v1alpha1.FeedDestination) {
	note := func(failed *v1alpha1.Failure) {
		if failed != nil && failed.Time.After(a.failed) {
			a.failed = failed.Time.Time
		}
	}
	for i := range destination.Status.Batches {
		of := &destination.Status.Batches[i]
		note(of.Failure)
		for j := range of.Members {
			note(of.Members[j].Failure)
		}
	}
}

// Note writes a new token on the live object, and when it was acted on.
func (a *Request) Note(live client.Object, handled *string, released **metav1.MicroTime, now time.Time) {
	a.Noted = a.Token != "" && *handled != a.Token && Token(live) == a.Token
	if a.Noted {
		*handled, *released = a.Token, lifecycle.AfterFailures(*released, a.failed, now)
	}
}
