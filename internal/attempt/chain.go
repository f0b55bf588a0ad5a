// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// link is one provider that an item may use, with what the schedule knows it by.
type link struct {
	provider.Link
	resource schedule.Resource
	// kind is its type, as metrics name it.
	kind string
	// model is what it asks.
	model tracing.Model
	// documents is set if it reads PDF documents as they are.
	documents bool
	// revision of the spec and the Secret that the provider is called with.
	revision string
	// unavailable is why it cannot be used until a person changes something; empty: it can.
	unavailable string
	// refused is set when that is because its credentials are refused.
	refused *failure.Error
	// restored is when credentials that had been refused were replaced last.
	restored time.Time
}

// chainOf returns the providers that do what an item needs next, in order: those that judge it, where
// the source has others for that, or those that write its summary. Those that have failed for good at it are left out as long as
// all others are down: these are waited for, which costs no call (R3.6).
func (e *Engine) chainOf(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) ([]link, error) {
	chain, err := e.namedFor(ctx, item, source)
	if err != nil || len(item.Status.ProviderFailures) == 0 {
		return chain, err
	}
	policy := backoff.Of(source)
	others := slices.DeleteFunc(slices.Clone(chain), func(next link) bool { return lifecycle.FailedForGood(item, next.Name, policy) })
	if len(others) == 0 || slices.ContainsFunc(others, e.isAvailable) || retry.RequestsFor(ctx, e.Client, item).Covers(item) {
		return chain, nil
	}
	return others, nil
}

// isAvailable reports whether a provider may be called at this moment, or soon.
func (e *Engine) isAvailable(next link) bool {
	availability := e.Schedule.Availability(next.resource)
	return next.unavailable == "" && next.Provider != nil &&
		availability.State != schedule.StateCircuitOpen && availability.Remaining(e.Clock.Now()) < services.LongPause
}

// namedFor returns the providers that a source names for what an item needs next.
func (e *Engine) namedFor(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) ([]link, error) {
	writers, err := e.writersOf(ctx, source)
	if err != nil || !derive.ToBeScreened(item, source) || len(source.Judges()) == 0 {
		return writers, err
	}
	judges, err := e.linksTo(ctx, source.Namespace, source.Judges())
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(writers, func(next link) bool { return next.unavailable == "" })
	for i := range judges { // R2.6: who comes first at both does both at once
		judges[i].VerdictOnly = first < 0 || judges[i].Name != writers[first].Name
	}
	return judges, nil
}

// writersOf returns the providers that write the summaries of a source; the built-in one if it names none.
func (e *Engine) writersOf(ctx context.Context, source *v1alpha1.FeedSource) ([]link, error) {
	if len(source.Spec.Providers) == 0 {
		builtin := provider.Link{Name: derive.BuiltinProvider, Provider: e.Builtin, Timeout: v1alpha1.DefaultProviderTimeout}
		return []link{{Link: builtin, resource: schedule.Builtin, kind: metrics.TypeOf(nil)}}, nil
	}
	return e.linksTo(ctx, source.Namespace, source.Spec.Providers)
}

// linksTo returns what it takes to call some providers.
func (e *Engine) linksTo(ctx context.Context, namespace string, refs []v1alpha1.ProviderReference) ([]link, error) {
	chain := make([]link, 0, len(refs))
	for _, ref := range refs {
		key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
		next := link{Link: provider.Link{Name: ref.Name}, resource: schedule.Provider(key)}
		var found v1alpha1.AIProvider
		switch err := e.Client.Get(ctx, key, &found); {
		case apierrors.IsNotFound(err):
			next.unavailable = services.MissingObject
		case err != nil:
			return nil, err
		default:
			caller, revision, withdrawn, _ := e.Services.Lookup(next.resource)
			if services.IsOf(revision, &found) {
				next.Provider, _ = caller.(provider.Provider)
			}
			next.revision, next.Timeout, next.Screens = revision, found.Timeout(), found.Screens()
			next.documents, next.kind = found.ReadsDocuments(), metrics.TypeOf(&found)
			next.model = tracing.ModelOf(&found)
			next.restored = believable.TimeOf(found.Status.CredentialsRestored())
			if withdrawn != nil {
				next.unavailable, next.refused = withdrawn.Because, withdrawn.Refused
			}
		}
		chain = append(chain, next)
	}
	return chain, nil
}

// QueueForProviders has an item wait in the line of the providers that do what it needs first.
func (e *Engine) QueueForProviders(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
	chain, err := e.chainOf(ctx, item, source)
	if err != nil {
		return err
	}
	turn.AcquireAll(RankOf(item, e.Clock.Now()), queue.Only(queue.ItemPlaces), resourcesOf(eligible(chain, derive.ToBeScreened(item, source))))
	return nil
}

// AllRefuse reports whether every provider that an item could ask refuses its credentials.
func (e *Engine) AllRefuse(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (bool, error) {
	chain, err := e.chainOf(ctx, item, source)
	if err != nil {
		return false, err
	}
	return e.allRefused(item, eligible(chain, derive.ToBeScreened(item, source))) != nil, nil
}

// eligible returns the links that can do what an item needs first: to judge it, or to summarize it. One
// that is not known yet, as after a start, is waited for: nobody after it takes over its items.
func eligible(chain []link, screening bool) []link {
	var first []link
	for _, next := range chain {
		if screening && !next.Screens && next.unavailable == "" {
			continue
		}
		first = append(first, next)
		if next.Provider == nil && next.unavailable == "" {
			break
		}
	}
	return first
}

// allRefused returns the outcome of an attempt that is not made, because each provider that could be
// asked refuses its credentials (R3.8); nil where one does not, or there is none.
func (e *Engine) allRefused(item *v1alpha1.FeedItem, chain []link) *lifecycle.Outcome {
	if len(chain) == 0 || slices.ContainsFunc(chain, func(next link) bool { return next.refused == nil }) {
		return nil
	}
	outcome := &lifecycle.Outcome{Token: lifecycle.Token(item)}
	for _, next := range chain {
		at := lifecycle.FailedAfter(next.restored, e.Clock.Now())
		if outcome.Failure == nil {
			outcome.Failure = failure.Record(next.refused, v1alpha1.StageSummarize, next.Name, at.Time)
		}
		outcome.ProviderFailures = append(outcome.ProviderFailures, v1alpha1.ProviderFailure{
			Name: next.Name, Category: v1alpha1.CategoryAuth, Count: 1, Time: at,
		})
	}
	return outcome
}
