// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// generate asks the providers, in order. From here on a stop of the manager does not end the
// attempt: what was asked for is waited for and written down.
func (e *Engine) generate(ctx context.Context, turn *schedule.Turn, held *tickets, open *openAttempt, item *v1alpha1.FeedItem,
	source *v1alpha1.FeedSource, request provider.Request,
) (lifecycle.Outcome, error) {
	stage := v1alpha1.StageSummarize
	if request.Screening != nil {
		stage = v1alpha1.StageScreen
	}
	chain := provider.Chain{
		Links: held.links(), Judging: request.Screening != nil && len(source.Judges()) > 0,
		Acquire: e.providerCalls(ctx, held, open, turn, item, stage), Now: e.Clock.Now, Patience: e.InPlace.MaxWait,
		Repeat: func(failed *failure.Error, calls int, waited time.Duration) (time.Duration, bool) {
			if ctx.Err() != nil { // what has failed is written down before the operator ends
				return 0, false
			}
			return e.InPlace.Wait(stage, failed, calls, waited, string(item.UID))
		},
	}
	result, err := provider.Generate(context.WithoutCancel(ctx), chain, request, &open.Attempt)

	outcome := lifecycle.Outcome{Token: lifecycle.Token(item), Began: open.since}
	if verdict := result.Response.Verdict; result.Judge != "" && verdict != nil {
		outcome.ArticleHash = judgedHash(source, open.page.text)
		outcome.Verdict = &v1alpha1.Screening{
			Valuable: verdict.Valuable, Complete: verdict.Complete,
			Explanation: conditions.Cut(verdict.Explanation, 1000), Provider: result.Judge,
		}
	}
	var none *provider.ChainError
	switch {
	case err == nil && (result.Response.Verdict.Against() || result.Provider == ""):
	case err == nil:
		outcome.Destinations = source.Spec.Destinations
		if item.Spec.Image == nil {
			outcome.PageImage = open.page.text.Image
		}
		outcome.Summary = &v1alpha1.Summary{
			Text: result.Response.Summary, Provider: result.Provider,
			Model: conditions.Cut(result.Response.Model, 253), Tokens: result.Response.Tokens,
		}
	case errors.As(err, &none) && len(open.askAgain) > 0 && !open.without(none).Retryable() && outcome.Verdict == nil:
		return outcome, provider.ErrNoneAvailable // nothing is settled before that provider is asked again
	case errors.As(err, &none):
		// What is recorded is the failure that leaves most hope: it decides about a retry.
		outcome = withVerdict(results.Failed(item, none, stage, decisiveProvider(none), v1alpha1.ReasonAPIFailed, e.Results.Now()), outcome)
		outcome.Untried = none.Untried
	default:
		return outcome, err
	}
	for _, f := range open.Failures {
		outcome.ProviderFailures = append(outcome.ProviderFailures, v1alpha1.ProviderFailure{
			Name: f.Name, Category: f.Err.Category, Count: int32(min(f.Calls, 1<<20)), //nolint:gosec // bounded
			Time: lifecycle.FailedAfter(held.restoredAt(f.Name), e.Clock.Now()),
		})
	}
	return outcome, nil
}

// without returns a chain's failures but for those of the providers that are to be asked again.
func (o *openAttempt) without(none *provider.ChainError) *provider.ChainError {
	return &provider.ChainError{Failures: slices.DeleteFunc(slices.Clone(none.Failures), func(failed provider.Failed) bool {
		return o.askAgain[failed.Name]
	})}
}

// decisiveProvider names the provider whose failure failure.Classify finds in a chain's error.
func decisiveProvider(none *provider.ChainError) string {
	for _, f := range none.Failures {
		if f.Err == failure.Classify(none) {
			return f.Name
		}
	}
	return ""
}

// restoredAt is when credentials of a provider that had been refused were replaced last.
func (t *tickets) restoredAt(name string) time.Time {
	for _, next := range t.chain {
		if next.Name == name {
			return next.restored
		}
	}
	return time.Time{}
}
