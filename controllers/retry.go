// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// retry is what a person asks for by the retry annotation of a source, a provider or a destination:
// that all which has failed there is tried again. One write says when that was asked for; the items
// compare it with the times of their failures (R3.7).
type retry struct {
	// token that was found on the object, and the last that was acted on.
	token, last string
	// items are how many it concerns, and failed is when the last of them has failed.
	items  int
	failed time.Time
	// noted says that it was written down.
	noted bool
}

// retryToken is the value of the retry annotation, in the form in which it is compared and kept.
func retryToken(object client.Object) string {
	return lifecycle.TokenOf(object.GetAnnotations()[v1alpha1.AnnotationRetry])
}

func (a *retry) isNew() bool { return a.token != "" && a.token != a.last }

// concern finds out which items a retry concerns. They may have failed a moment ago.
func (a *retry) concern(ctx context.Context, reader client.Reader, object client.Object) error {
	items, err := itemcache.FailedOf(ctx, reader, object)
	a.items = len(items)
	for i := range items {
		if last := lifecycle.LastFailure(&items[i]); last.After(a.failed) {
			a.failed = last
		}
	}
	return err
}

// note writes a new token on the live object, and when it was acted on.
func (a *retry) note(live client.Object, handled *string, released **metav1.MicroTime, now time.Time) {
	a.noted = a.token != "" && *handled != a.token && retryToken(live) == a.token
	if a.noted {
		*handled, *released = a.token, lifecycle.ReleasedAt(*released, a.failed, now)
	}
}

// release notes that a person wants all deferred and failed items of a source to be tried again,
// also of one that is suspended: then they are tried when that ends.
func (r *FeedSourceReconciler) release(ctx context.Context, source *v1alpha1.FeedSource) error {
	asked := retry{token: retryToken(source), last: source.Status.LastHandledRetry}
	if !asked.isNew() {
		return nil
	}
	if err := asked.concern(ctx, r.Client, source); err != nil {
		return err
	}
	now := r.Clock.Now()
	err := r.write(ctx, source, func(live *v1alpha1.FeedSource) {
		asked.note(live, &live.Status.LastHandledRetry, &live.Status.ReleasedTime, now)
	})
	if err != nil || !asked.noted {
		return err
	}
	telemetry.RetryRequested(r.Recorder, source, asked.items)
	ctrl.LoggerFrom(ctx).Info("Retry requested", "items", asked.items)
	return nil
}

// clearPauses forgets, once for each token, why a service is not to be called now: its cool-down, its
// quota, its circuit. What had been refused is asked about again, with what there is now.
func (r *serviceReconciler[T, P]) clearPauses(id schedule.Resource, found P) {
	asked := retry{token: retryToken(found), last: found.Service().LastHandledRetry}
	if asked.isNew() {
		r.Services.Clear(id, asked.token)
	}
}

// tellRetry tells of a retry once it is written down.
func (r *serviceReconciler[T, P]) tellRetry(ctx context.Context, found P, asked retry) {
	r.retryRequested(found, asked.items)
	ctrl.LoggerFrom(ctx).Info("Retry requested", "items", asked.items)
}
