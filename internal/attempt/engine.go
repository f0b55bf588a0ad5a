// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/tracing"
	"github.com/feed-operator/feed-operator/internal/web"
)

// longestOpenWait is longer than any wait within an attempt.
const longestOpenWait = 10 * time.Minute

// Engine makes summaries of items: it reads the article, and has it judged and summarized.
type Engine struct {
	Clock clock.WithDelayedExecution
	// Client reads from the cache.
	Client client.Client
	// Writes knows whether results are taken.
	Writes   *itemwrites.Writes
	Stream   telemetry.Stream
	Tracer   *tracing.Tracer
	Schedule *schedule.Schedule
	Web      *web.Web
	Articles *article.Fetcher
	// Services knows the providers.
	Services *services.Services
	// Builtin writes summaries where a source names no provider.
	Builtin provider.Provider
	// InPlace is how calls that have failed are repeated within one attempt.
	InPlace backoff.InPlace

	Results *results.Results
	Metrics *metrics.Metrics
	Poster  Poster
	Open    OpenAttempts
}

// Poster is what posts the summaries.
type Poster interface {
	// SkipPosted returns the outcome of an item of which every destination has a post already; soon: that is not known yet.
	SkipPosted(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (outcome *lifecycle.Outcome, soon bool, err error)
	// SettleAndPost writes down what an attempt came to, together with the intents of the posts that are free at this moment, and
	// makes those.
	SettleAndPost(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
		outcome lifecycle.Outcome) (ctrl.Result, error)
}

// Summarize makes one attempt, or goes on with one that waits: it reads the article, has it judged
// and summarized, and records what came of it; then it posts the summary where that is free at once.
// Where a provider or the host of the page is not free, the item is parked instead.
func (e *Engine) Summarize(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (ctrl.Result, error) {
	open := e.Open.of(item, e.Clock.Now())
	if open.Begun() && e.retriedSince(ctx, source, open) {
		open.span.End()
		open = newAttempt(item)
	}
	open.kept = false
	defer open.endUnlessKept()
	if now := e.Clock.Now(); open.notBefore.After(now) && believable.Coming(open.notBefore, now, longestOpenWait) {
		e.Open.keep(item, open)
		return ctrl.Result{}, nil // it is woken then
	}
	if !open.Begun() {
		if skipped, result, err := e.skip(ctx, item, source, open); skipped || err != nil {
			return result, err
		}
	}
	return e.goOn(ctx, turn, open, item, source)
}

// goOn goes on with an attempt that nothing keeps from it, or begins it.
func (e *Engine) goOn(ctx context.Context, turn *schedule.Turn, open *openAttempt,
	item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
) (ctrl.Result, error) {
	room := e.Articles.Budget().Document(item.Namespace)
	defer room.Release()
	room.Charge(open.page.text.Weight()) // it is in memory already
	request, err := e.articleRequest(ctx, item, source, room)
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // the manager is stopping
	case errors.Is(err, budget.ErrFull):
		return ctrl.Result{}, e.waitForRoom(ctx, item, open)
	case err != nil:
		return e.Results.Settle(ctx, item, source, results.Failed(item, err, v1alpha1.StageArticle, "", v1alpha1.ReasonInvalidContent, e.Results.Now()))
	}
	held := &tickets{}
	outcome, err := e.findChain(ctx, held, item, source, open)
	if err != nil {
		return ctrl.Result{}, err
	}
	if outcome != nil {
		return e.Results.Settle(ctx, item, source, *outcome)
	}
	defer held.cancelUnused()
	if open.page.read.IsZero() {
		request.Documents = readsDocuments(held.chain)
		done, result, err := e.readPage(ctx, turn, held, open, item, source, request)
		if done || err != nil {
			return result, err
		}
		// The page may have taken its time: providers may have come and gone meanwhile.
		if outcome, err = e.findChain(ctx, held, item, source, open); err != nil {
			return ctrl.Result{}, err
		}
		if outcome != nil {
			return e.Results.Settle(ctx, item, source, *outcome)
		}
	}
	if !open.Begun() { // else it is about the provider that comes next, and that one may be down
		if ready, err := e.acquireProvider(ctx, turn, held, item); err != nil || !ready {
			e.Open.keep(item, open)
			return ctrl.Result{}, err
		}
	}
	return e.ask(ctx, turn, held, open, item, source, derive.SummaryRequest(item, source, request, open.page.text))
}

// ask has the article judged and summarized, and records what came of it, or puts the attempt away
// until it goes on.
func (e *Engine) ask(ctx context.Context, turn *schedule.Turn, held *tickets, open *openAttempt,
	item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, request provider.Request,
) (ctrl.Result, error) {
	ctx = open.begin(ctx, e.Tracer, item, e.Clock.Now())
	outcome, err := e.generate(ctx, turn, held, open, item, source, request)
	switch {
	case errors.Is(err, provider.ErrWaits):
		open.notBefore = open.NotBefore
		e.Open.keep(item, open)
		e.Results.WakeAt(item, open.NotBefore)
		e.Results.WakeAt(item, open.GoOnBy)
		return ctrl.Result{}, nil
	case errors.Is(err, provider.ErrNoneAvailable): // it was closed or deleted just now
		return queue.RequeueAt(e.Clock.Now(), e.Clock.Now().Add(time.Second)), nil
	case err != nil:
		return ctrl.Result{}, err
	}
	open.fails(outcome)
	if outcome.Verdict.Passed() && outcome.Summary == nil && outcome.Failure == nil {
		e.Open.keep(item, open) // the text is needed again for the summary
		defer open.span.End()
	}
	return e.Poster.SettleAndPost(ctx, turn, item, source, outcome)
}

// findChain finds the providers that an attempt may call. The outcome is set where none needs to be asked.
func (e *Engine) findChain(ctx context.Context, held *tickets, item *v1alpha1.FeedItem,
	source *v1alpha1.FeedSource, open *openAttempt,
) (*lifecycle.Outcome, error) {
	var err error
	if held.chain, err = e.chainOf(ctx, item, source); err != nil {
		return nil, err
	}
	held.first = eligible(held.chain, derive.ToBeScreened(item, source))
	if open.Begun() { // what was refused since is one of its failures, or passed over
		return nil, nil
	}
	return e.allRefused(item, held.first), nil
}

// retriedSince reports whether somebody has asked for a retry of what has failed at a provider, since an
// attempt began that has failed there and goes on with the next one.
func (e *Engine) retriedSince(ctx context.Context, source *v1alpha1.FeedSource, open *openAttempt) bool {
	return slices.ContainsFunc(slices.Concat(source.Spec.Providers, source.Judges()), func(ref v1alpha1.ProviderReference) bool {
		return open.HasFailed(ref.Name) && retry.RequestedAt(ctx, e.Client, &v1alpha1.AIProvider{}, source.Namespace, ref.Name).After(open.since)
	})
}

// skip ends an item that needs no summary, because its entry was posted before wherever it is to be posted; or has it wait for
// a moment until that can be said.
func (e *Engine) skip(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, open *openAttempt) (bool, ctrl.Result, error) {
	outcome, soon, err := e.Poster.SkipPosted(ctx, item, source)
	switch {
	case err != nil:
		return false, ctrl.Result{}, err
	case soon:
		e.Open.keep(item, open)
		return true, queue.RequeueAt(e.Clock.Now(), e.Clock.Now().Add(time.Second)), nil
	case outcome == nil:
		return false, ctrl.Result{}, nil
	}
	result, err := e.Results.Settle(ctx, item, source, *outcome)
	return true, result, err
}
