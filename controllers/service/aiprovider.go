// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/services"
)

// AIProviders is the reconciler of AIProvider: it reports whether a provider can be used, and opens it to those who wait for it.
type AIProviders = Reconciler[v1alpha1.AIProvider, *v1alpha1.AIProvider, provider.Provider]

// ProviderFactory makes what calls the service that an AIProvider describes, with its credentials.
// An error explains what in the spec cannot work.
type ProviderFactory func(described *v1alpha1.AIProvider, credentials secrets.Values) (provider.Provider, error)

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=aiproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=aiproviders/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// NewAIProviders makes the reconciler of AIProvider. Workers is how many items are worked on at once: a quarter of them may
// call one provider, so that one that hangs leaves enough for the items of others, whatever its spec allows.
func NewAIProviders(tools Tools, factory ProviderFactory, workers int) *AIProviders {
	return &AIProviders{Tools: tools, kind: aiProviders{factory: factory, share: max(workers/4, 1)}}
}

// aiProviders is the kind AIProvider.
type aiProviders struct {
	factory ProviderFactory
	share   int
}

// checker is a Provider that can be asked whether its key and its model are good.
type checker interface {
	Check(ctx context.Context) error
}

func (aiProviders) traits() traits {
	return traits{kind: schedule.KindProvider, places: queue.ProviderCheckPlaces, looks: queue.ProviderLookPlaces, stage: v1alpha1.StageSummarize}
}

func (a aiProviders) pace(described *v1alpha1.AIProvider) (limit schedule.Limit, last time.Time) {
	return schedule.Limit{
		PerMinute: described.RequestsPerMinute(), Concurrent: min(described.MaxConcurrent(), a.share), TokensPerDay: described.TokensPerDay(),
	}, last
}

func (aiProviders) credentials(ctx context.Context, live client.Reader, described *v1alpha1.AIProvider) (secrets.Values, string, error) {
	return secrets.OfProvider(ctx, live, described)
}

func (aiProviders) peer(described *v1alpha1.AIProvider) any {
	return []any{described.Spec.Gemini, described.Spec.OpenAI, described.Spec.Anthropic}
}

func (a aiProviders) connect(described *v1alpha1.AIProvider, credentials secrets.Values) (provider.Provider, error) {
	return a.factory(described, credentials)
}

func (aiProviders) check(ctx context.Context, _ *v1alpha1.AIProvider, caller provider.Provider) (func(*v1alpha1.AIProvider), error) {
	if asked, can := caller.(checker); can {
		return nil, asked.Check(ctx)
	}
	return nil, nil
}

func (aiProviders) usable(*v1alpha1.AIProvider, provider.Provider, bool) bool { return true }

func (aiProviders) addCounts(described *v1alpha1.AIProvider, calls services.Tally, fresh bool) {
	described.Status.TokensToday = services.TokensTodayOf(calls.Today, described.Status.TokensToday)
	if !fresh {
		return
	}
	described.Status.Calls = services.Sum(described.Status.Calls, calls.Calls)
	described.Status.Tokens = services.Sum(described.Status.Tokens, calls.Tokens)
	described.Status.LastSuccessTime = services.TimeOrKeep(calls.LastSuccess, described.Status.LastSuccessTime)
}

func (aiProviders) resume(known *services.Services, id schedule.Resource, described *v1alpha1.AIProvider) {
	known.RestoreTokens(id, described.Status.TokensToday)
	if described.Status.Calls > 0 {
		known.KeepPace(id)
	}
}

func (aiProviders) endedFor(*v1alpha1.AIProvider) string { return "" }

func (aiProviders) noteEnded(*v1alpha1.AIProvider, string) {}

func (aiProviders) working(described *v1alpha1.AIProvider) string {
	if model := described.Model(); model != "" {
		return "Summarizes with " + model
	}
	return "Summarizes inside the operator; needs no key"
}
