// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// AIProviderReconciler says whether a provider can be used, and opens it to those who wait for it.
type AIProviderReconciler struct {
	Clock    clock.PassiveClock
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
	Schedule *schedule.Schedule
}

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=aiproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=aiproviders/status,verbs=patch

// Reconcile tells the schedule how hard the provider may be asked, and the person whether it is ready.
func (r *AIProviderReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var found v1alpha1.AIProvider
	if err := r.Client.Get(ctx, request.NamespacedName, &found); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Schedule.Remove(providerResource(request.NamespacedName))
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	openProvider(r.Schedule, &found)

	said := verdict{ready: true, reason: v1alpha1.ReasonSucceeded, message: "Summarizes inside the operator; needs no key"}
	if found.Spec.Suspend {
		said = verdict{reason: v1alpha1.ReasonSuspended, message: "Suspended: nothing is asked, and items that need this provider wait"}
	}
	before := readyOf(found.Status.Conditions)
	generation := found.Generation
	err := record(ctx, r.Client, r.Live, &found, func(live *v1alpha1.AIProvider) bool {
		live.Status.ObservedGeneration = generation
		setReady(&live.Status.Conditions, generation, said, r.Clock.Now())
		return true
	})
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if after := readyOf(found.Status.Conditions); after.Status != before.Status {
		telemetry.ProviderTransition(r.Recorder, &found, said.ready, said.reason, said.message)
	}
	return ctrl.Result{}, nil
}

// SetupWithManager registers the controller.
func (r *AIProviderReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.AIProvider{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}
