// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// writeTimeout bounds the writing of a result, the retries included.
const writeTimeout = 10 * time.Second

// resultBackoff is how a result is written again that was not taken.
var resultBackoff = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10}

// triesInPlace is how often the result of an item is written, within a second or so, before it is kept until the API server
// takes it: what goes on being refused is tried by one item at a time.
const triesInPlace = 8

// claim writes a status that change makes of a live object; where change returns false, nothing is
// written. When the object has changed since it was read, the claim is lost (a Conflict), and so
// is the right to act; nor is there one where the API server would not keep the whole claim (a droppedError).
func claim[T client.Object](ctx context.Context, c client.Client, live T, change func(T) bool) error {
	before, _ := live.DeepCopyObject().(T)
	if !change(live) {
		return nil
	}
	if apiequality.Semantic.DeepEqual(before, live) {
		return nil
	}
	return asDropped(c.Status().Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), validationOf(before, live)))
}

// record writes a result. When the object has changed since it was read, the result is worked out
// again on the live one, so that it is not lost because somebody annotated the object meanwhile;
// when the API server is busy or away for a moment, it is written again. Change returns false where
// the result does not belong on the object any more. Afterwards object is what the API server holds.
func record[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Client, live client.Reader, object P, change func(P) bool) error {
	return recordTrying[T, P](ctx, c, live, object, resultBackoff.Steps, change)
}

// recordTrying is record with so many tries at most.
func recordTrying[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Client, live client.Reader, object P, tries int, change func(P) bool) error {
	var last error
	backoff := resultBackoff
	backoff.Steps = tries
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		if apierrors.IsConflict(last) {
			newer := P(new(T)) // decoding into an object that is not empty would merge the two
			if err := live.Get(ctx, client.ObjectKeyFromObject(object), newer); err != nil {
				return false, permanent(err)
			}
			*object = *newer
		}
		attempt, _ := object.DeepCopyObject().(P)
		if last = claim(ctx, c, attempt, change); last == nil {
			*object = *attempt
			return true, nil
		}
		return false, permanent(last)
	})
	if last != nil && wait.Interrupted(err) {
		return last
	}
	return err
}

// permanent returns an error that trying again does not cure, and nil for the others.
func permanent(err error) error {
	var answer apierrors.APIStatus
	if _, dropped := errors.AsType[*droppedError](err); dropped {
		return err
	}
	switch {
	case !errors.As(err, &answer), apierrors.IsConflict(err), apierrors.IsInternalError(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return nil
	}
	return err
}

// recording returns a context for the writing of a result, which a stop of the manager does not end.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}

// sourceOf returns the source that an item came from, or nil if it is gone, going or another one
// of the same name: such an item is not worked on.
func sourceOf(ctx context.Context, reader client.Reader, item *v1alpha1.FeedItem) (*v1alpha1.FeedSource, error) {
	var source v1alpha1.FeedSource
	key := client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.SourceRef.Name}
	if err := reader.Get(ctx, key, &source); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if source.UID != item.Spec.SourceRef.UID || !source.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return &source, nil
}
