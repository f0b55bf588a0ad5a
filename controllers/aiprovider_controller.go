// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// AIProviderReconciler says whether a provider can be used, and opens it to those who wait for it.
type AIProviderReconciler struct {
	serviceReconciler[v1alpha1.AIProvider, *v1alpha1.AIProvider]
}

// ProviderFactory makes what calls the service that an AIProvider describes, with its credentials.
// An error says, for a person, what in the spec cannot work.
type ProviderFactory func(described *v1alpha1.AIProvider, credentials string) (provider.Provider, error)

// checker is a Provider that can be asked whether its key and its model are good.
type checker interface {
	Check(ctx context.Context) error
}

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=aiproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=aiproviders/status,verbs=patch

// shareOfWorkers is how many of the workers may call one provider: a quarter, so that one that hangs
// leaves enough of them for the items of others, whatever its spec allows.
func shareOfWorkers(workers int) int { return max(workers/4, 1) }

func newAIProviderReconciler(common serviceReconciler[v1alpha1.AIProvider, *v1alpha1.AIProvider], connect ProviderFactory, share int) *AIProviderReconciler {
	r := &AIProviderReconciler{serviceReconciler: common}
	r.places, r.key = queue.ProviderCheckPlaces, queue.ProviderKey
	r.resource = schedule.Provider
	r.stage = v1alpha1.StageSummarize
	r.secretKey = secrets.KeyAPIKey
	r.limit = func(described *v1alpha1.AIProvider) schedule.Limit {
		return schedule.Limit{
			PerMinute: described.RequestsPerMinute(), Concurrent: min(described.MaxConcurrent(), share), TokensPerDay: described.TokensPerDay(),
		}
	}
	r.peer = func(described *v1alpha1.AIProvider) any {
		return []any{described.Spec.Gemini, described.Spec.OpenAI, described.Spec.Anthropic}
	}
	r.connect = func(described *v1alpha1.AIProvider, credentials string) (any, error) {
		return connect(described, credentials)
	}
	r.check = func(ctx context.Context, _ *v1alpha1.AIProvider, caller any) (func(*v1alpha1.AIProvider), error) {
		if asked, can := caller.(checker); can {
			return nil, asked.Check(ctx)
		}
		return nil, nil
	}
	r.usable = func(*v1alpha1.AIProvider, any, bool) bool { return true }
	r.counted = func(described *v1alpha1.AIProvider, calls services.Tally) {
		described.Status.Calls = services.Sum(described.Status.Calls, calls.Calls)
		described.Status.Tokens = services.Sum(described.Status.Tokens, calls.Tokens)
		described.Status.TokensToday = services.TokensTodayOf(calls.Today, described.Status.TokensToday)
		described.Status.LastSuccessTime = services.TimeOrKeep(calls.LastSuccess, described.Status.LastSuccessTime)
	}
	r.resume = func(id schedule.Resource, described *v1alpha1.AIProvider) {
		r.Services.RestoreTokens(id, described.Status.TokensToday)
		if described.Status.Calls > 0 {
			r.Services.KeepPace(id)
		}
	}
	r.lastCall = func(*v1alpha1.AIProvider) time.Time { return time.Time{} }
	r.working = func(described *v1alpha1.AIProvider) string {
		if model := described.Model(); model != "" {
			return "Summarizes with " + model
		}
		return "Summarizes inside the operator; needs no key"
	}
	r.transition = func(described *v1alpha1.AIProvider, said conditions.Verdict) {
		telemetry.ProviderTransition(r.Recorder, described, said.Ready, said.Reason, said.Message)
	}
	r.retryRequested = func(described *v1alpha1.AIProvider, items int) {
		telemetry.RetryRequested(r.Recorder, described, items)
	}
	return r
}

// Reconcile tells the schedule how hard the provider may be asked, and the person whether it is ready.
func (r *AIProviderReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return r.reconcile(ctx, request)
}

// SetupWithManager registers the controller. It looks at a provider when its spec or its retry annotation changes, when
// its calls have changed how it stands, when it is to tell that its credentials are refused, and when it is time to read
// its Secret again.
func (r *AIProviderReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.AIProvider{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, queue.AnnotationChanged(v1alpha1.AnnotationRetry), notices.CredentialsQueued))).
		WatchesRawSource(&r.Waker.Providers).
		WithOptions(queue.Options(queue.LimitOfChecks)).
		Complete(r)
}
