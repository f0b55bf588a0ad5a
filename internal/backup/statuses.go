// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// statuses writes what was counted and what was served. How a thing stands now, the operator of this cluster finds out and says.
func (r *Restorer) statuses(ctx context.Context) error {
	for i := range r.backup.Sources {
		from, to := &r.backup.Sources[i], &v1alpha1.FeedSource{}
		err := r.status(ctx, from, to, func() {
			conditions, observed := to.Status.Conditions, to.Status.ObservedGeneration
			to.Status = *from.Status.DeepCopy()
			to.Status.Conditions, to.Status.ObservedGeneration = conditions, observed
		})
		if err != nil {
			return err
		}
	}
	for i := range r.backup.Providers {
		from, to := &r.backup.Providers[i], &v1alpha1.AIProvider{}
		err := r.status(ctx, from, to, func() {
			served(&to.Status.ServiceStatus, &from.Status.ServiceStatus)
			to.Status.Calls, to.Status.Tokens = max(to.Status.Calls, from.Status.Calls), max(to.Status.Tokens, from.Status.Tokens)
			to.Status.LastSuccessTime = from.Status.LastSuccessTime
			if to.Status.TokensToday == nil {
				to.Status.TokensToday = from.Status.TokensToday
			}
		})
		if err != nil {
			return err
		}
	}
	for i := range r.backup.Destinations {
		from, to := &r.backup.Destinations[i], &v1alpha1.FeedDestination{}
		err := r.status(ctx, from, to, func() {
			served(&to.Status.ServiceStatus, &from.Status.ServiceStatus)
			to.Status.Delivered = max(to.Status.Delivered, from.Status.Delivered)
			to.Status.Duplicates = max(to.Status.Duplicates, from.Status.Duplicates)
			to.Status.LastDeliveryTime = from.Status.LastDeliveryTime
			if to.Status.Events == nil {
				to.Status.Events = from.Status.Events
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// served writes what was asked for and served, and what was counted, of what providers and destinations have in common. Which credentials were refused says
// nothing here: they are other objects, which are tried.
func served(to, from *v1alpha1.ServiceStatus) {
	to.LastHandledRetry, to.RetryRequestedTime, to.CredentialsRestoredTime = from.LastHandledRetry, from.RetryRequested(), from.CredentialsRestored()
	if to.Availability == nil {
		to.Availability = from.Availability
	}
	if len(to.Failures) == 0 {
		to.Failures = from.Failures
	}
	if to.LastFailure == nil {
		to.LastFailure = from.LastFailure
	}
}

// status writes the status of an object that is being restored.
func (r *Restorer) status(ctx context.Context, from, to client.Object, change func()) error {
	stands, err := r.stateOf(ctx, from.GetName(), to)
	if err != nil || stands != begun {
		return err
	}
	if err := r.writeStatus(ctx, to, change); err != nil {
		return fmt.Errorf("status of %T %s: %w", to, from.GetName(), err)
	}
	return nil
}

// allWritten is what AnnotationRestoring says, after the name of the backup, on what is resumed last, once everything was written.
const allWritten = " is written"

// resumption is an object of the backup that goes on as it did.
type resumption struct {
	from, to client.Object
	as       func()
}

// inOrder is the order in which all goes on: at last the sources, so that what they need is there.
func (r *Restorer) inOrder() (all []resumption) {
	for i := range r.backup.Providers {
		from, to := &r.backup.Providers[i], &v1alpha1.AIProvider{}
		all = append(all, resumption{from, to, func() { to.Spec.Suspend = from.Spec.Suspend }})
	}
	for i := range r.backup.Destinations {
		from, to := &r.backup.Destinations[i], &v1alpha1.FeedDestination{}
		all = append(all, resumption{from, to, func() { to.Spec.Suspend = from.Spec.Suspend }})
	}
	for i := range r.backup.Sources {
		from, to := &r.backup.Sources[i], &v1alpha1.FeedSource{}
		all = append(all, resumption{from, to, func() { to.Spec.Suspend = from.Spec.Suspend }})
	}
	return all
}

// noteWritten notes that everything was written. A restore that is interrupted from here on writes nothing again: what goes on already, such as a batch, may
// have come to results meanwhile, which would be undone.
func (r *Restorer) noteWritten(ctx context.Context) error {
	all := r.inOrder()
	slices.Reverse(all)
	for _, last := range all {
		stands, err := r.stateOf(ctx, last.from.GetName(), last.to)
		switch {
		case err != nil:
			return err
		case stands == begun:
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRestoring, r.backup.ID+allWritten)
			return r.Client.Patch(ctx, last.to, client.RawPatch(types.MergePatchType, []byte(patch)))
		}
	}
	return nil
}

// resume has everything go on as it did.
func (r *Restorer) resume(ctx context.Context) error {
	for _, next := range r.inOrder() {
		if err := r.resumeOne(ctx, next.from, next.to, next.as); err != nil {
			return err
		}
	}
	return nil
}

func (r *Restorer) resumeOne(ctx context.Context, from, to client.Object, as func()) error {
	stands, err := r.stateOf(ctx, from.GetName(), to)
	if err != nil || stands != begun {
		return err
	}
	before, _ := to.DeepCopyObject().(client.Object)
	as()
	annotations := to.GetAnnotations()
	delete(annotations, v1alpha1.AnnotationRestoring)
	for _, name := range []string{v1alpha1.AnnotationRetry, v1alpha1.AnnotationPoll} {
		if token, had := from.GetAnnotations()[name]; had {
			annotations[name] = token
		}
	}
	to.SetAnnotations(annotations)
	return r.Client.Patch(ctx, to, client.MergeFrom(before))
}
