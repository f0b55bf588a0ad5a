// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record writes statuses: the claim of what is about to be done, which is lost where somebody else was faster, and the result of what
// was done, which is never lost for that. It tells a write of which fields would be dropped from every other failure.
//
// It knows how to write, and of what is written only whether it announces a call. It must never decide what is written.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// writeTimeout bounds the writing of a result, the retries included.
const writeTimeout = 10 * time.Second

// Backoff is how a result is written again that was not taken.
var Backoff = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10}

// TriesInPlace is how often the result of an item is written, within a second or so, before it is kept until the API server
// takes it: what goes on being refused is tried by one item at a time.
const TriesInPlace = 8

// Claim writes a status that change makes of a live object; where change returns false, nothing is
// written. When the object has changed since it was read, the claim is lost (a Conflict), and so
// is the right to act; nor is there one where the API server would not keep the whole claim (a DroppedError), or has made something else of it (a
// ChangedError): then the status is as it was before, as far as the API server takes that.
func Claim[T client.Object](ctx context.Context, c client.Client, live T, change func(T) bool) error {
	before, _ := live.DeepCopyObject().(T)
	if !change(live) || apiequality.Semantic.DeepEqual(statusOf(before), statusOf(live)) {
		return nil
	}
	written := essenceOf(live)
	if err := AsDropped(c.Status().Patch(ctx, live, statusPatch{from(before), before}, validationOf(before, live))); err != nil {
		return err
	}
	changed := written.keptIn(live)
	if changed == nil {
		return nil
	}
	// What is there would be taken for what was written: a phase without the summary that belongs to it.
	return errors.Join(changed, putBack(ctx, c, live, before))
}

// putBack writes the status that an object had before.
func putBack(ctx context.Context, c client.Client, held, before client.Object) error {
	restored, _ := before.DeepCopyObject().(client.Object)
	restored.SetResourceVersion(held.GetResourceVersion())
	if apiequality.Semantic.DeepEqual(statusOf(held), statusOf(restored)) {
		return nil
	}
	return wait.ExponentialBackoffWithContext(ctx, Backoff, func(ctx context.Context) (bool, error) {
		attempt, _ := restored.DeepCopyObject().(client.Object)
		err := c.Status().Patch(ctx, attempt, statusPatch{from(held), held})
		if apierrors.IsConflict(err) { // somebody else has written since, and knows better
			return false, err
		}
		return err == nil, permanent(err)
	})
}

// from makes a patch of what has changed since, which is refused where somebody else has changed the object meanwhile.
func from(before client.Object) client.Patch {
	return client.MergeFromWithOptions(statusOf(before), client.MergeFromWithOptimisticLock{})
}

// statusPatch compares nothing but statuses: no other part of an object can be written with its status.
type statusPatch struct {
	client.Patch
	before client.Object
}

// Data implements client.Patch.
func (p statusPatch) Data(after client.Object) ([]byte, error) {
	if first := firstOf(p.before, after); first != nil {
		return json.Marshal(first)
	}
	return p.Patch.Data(statusOf(after))
}

// firstStatus is a patch that writes the first status of an item. There is nothing with which it has to be compared, which would take twenty times as
// long, for each item once.
type firstStatus struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"` // somebody else may have written the first one meanwhile
	} `json:"metadata"`
	Status *v1alpha1.FeedItemStatus `json:"status"`
}

// firstOf returns the patch that gives an item its first status, of which it has no more than a phase, by default; nil for everything else.
func firstOf(before, after client.Object) *firstStatus {
	was, is := before.(*v1alpha1.FeedItem)
	if !is || !apiequality.Semantic.DeepEqual(was.Status, v1alpha1.FeedItemStatus{Phase: was.Status.Phase}) {
		return nil
	}
	item, is := after.(*v1alpha1.FeedItem)
	if !is || item.Status.Phase == "" {
		return nil
	}
	first := &firstStatus{Status: &item.Status}
	first.Metadata.ResourceVersion = was.ResourceVersion
	return first
}

// statusOf leaves the content out that an item carries, which is most of it and would be encoded, decoded and compared each time.
func statusOf(object client.Object) client.Object {
	item, is := object.(*v1alpha1.FeedItem)
	if !is {
		return object
	}
	named := metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name, ResourceVersion: item.ResourceVersion}
	return &v1alpha1.FeedItem{ObjectMeta: named, Status: item.Status}
}

// Pointer is a pointer to an object of the API server.
type Pointer[T any] interface {
	*T
	client.Object
}

// Write writes a result. When the object has changed since it was read, the result is worked out
// again on the live one, so that it is not lost because somebody annotated the object meanwhile;
// when the API server is busy or away for a moment, it is written again, and may have been taken before: what adds to
// counters leaves a token beside them. Change returns false where
// the result does not belong on the object any more. Afterwards object is what the API server holds. Where it was deleted, the error is NotFound, also
// where another one has its name by now.
func Write[T any, P Pointer[T]](ctx context.Context, c client.Client, live client.Reader, object P, change func(P) bool) error {
	return WriteTrying[T, P](ctx, c, live, object, Backoff.Steps, change)
}

// WriteTrying is Write with so many tries at most.
func WriteTrying[T any, P Pointer[T]](ctx context.Context, c client.Client, live client.Reader, object P, tries int, change func(P) bool) error {
	var last error
	backoff := Backoff
	backoff.Steps = tries
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		if apierrors.IsConflict(last) {
			newer := P(new(T)) // decoding into an object that is not empty would merge the two
			if err := live.Get(ctx, client.ObjectKeyFromObject(object), newer); err != nil {
				return false, permanent(err)
			}
			if newer.GetUID() != object.GetUID() { // another one has the name by now
				return false, apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group}, object.GetName())
			}
			*object = *newer
		}
		attempt, _ := object.DeepCopyObject().(P)
		if last = Claim(ctx, c, attempt, change); last == nil {
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

// permanent returns an error that a retry does not help with, and nil for the others.
func permanent(err error) error {
	var answer apierrors.APIStatus
	if IsIncomplete(err) {
		return err
	}
	switch {
	case !errors.As(err, &answer), apierrors.IsConflict(err), apierrors.IsInternalError(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return nil
	}
	return err
}

// Context returns a context for the writing of a result, which a stop of the manager does not end.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return Lasting(ctx, writeTimeout)
}

// Lasting is Context for what may take so long. What Last has written takes no longer than that leaves it.
func Lasting(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Value(byLast{}) == nil {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithTimeout(ctx, most)
}
