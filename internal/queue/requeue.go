// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// RequeueAt asks to be called at the given time; never, when it is zero.
func RequeueAt(now, at time.Time) ctrl.Result {
	if at.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(at.Sub(now), time.Millisecond), Priority: new(0)}
}

// Earliest of two times, of which the zero one means never.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// Updated lets through objects that were changed in a way, and neither those that appear nor those that go.
func Updated(how func(before, after client.Object) bool) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return how(e.ObjectOld, e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// AnnotationChanged lets through objects that appear or go, and those of which the annotation has a
// new value.
func AnnotationChanged(name string) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectNew.GetAnnotations()[name] != e.ObjectOld.GetAnnotations()[name]
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
