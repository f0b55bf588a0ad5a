// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// longestOpenWait is longer than any wait within an attempt.
const longestOpenWait = 10 * time.Minute

// summarize makes one attempt, or goes on with one that waits: it reads the article, has it judged
// and summarized, and records what came of it; then it posts the summary where that is free at once.
// Where a provider or the host of the page is not free, the item is parked instead.
func (r *FeedItemReconciler) summarize(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (ctrl.Result, error) {
	open := r.open.of(item, r.Clock.Now())
	if open.Begun() && r.retriedSince(ctx, source, open) {
		open = newAttempt(item)
	}
	if now := r.Clock.Now(); open.notBefore.After(now) && believable.Coming(open.notBefore, now, longestOpenWait) {
		r.open.keep(item, open)
		return ctrl.Result{}, nil // it is woken then
	}
	if skipped, result, err := r.skip(ctx, item, source, open); skipped || err != nil {
		return result, err
	}
	room := r.Articles.Budget().Document(item.Namespace)
	defer room.Release()
	room.Take(open.page.text.Weight()) // it is in memory already
	request, err := r.articleRequest(ctx, item, source, room)
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // the manager is stopping
	case errors.Is(err, budget.ErrFull):
		return ctrl.Result{}, r.waitForRoom(ctx, item, open)
	case err != nil:
		return r.settle(ctx, item, source, failed(item, err, v1alpha1.StageArticle, "", v1alpha1.ReasonInvalidContent, r.now()))
	}
	held := &tickets{}
	outcome, err := r.findChain(ctx, held, item, source, open)
	if err != nil {
		return ctrl.Result{}, err
	}
	if outcome != nil {
		return r.settle(ctx, item, source, *outcome)
	}
	defer held.giveBack()
	if open.page.read.IsZero() {
		request.Documents = readsDocuments(held.chain)
		done, result, err := r.readPage(ctx, turn, held, open, item, source, request)
		if done || err != nil {
			return result, err
		}
		// The page may have taken its time: providers may have come and gone meanwhile.
		if outcome, err = r.findChain(ctx, held, item, source, open); err != nil {
			return ctrl.Result{}, err
		}
		if outcome != nil {
			return r.settle(ctx, item, source, *outcome)
		}
	}
	if !open.Begun() { // else it is about the provider that comes next, and that one may be down
		if ready, err := r.acquireProvider(ctx, turn, held, item); err != nil || !ready {
			r.open.keep(item, open)
			return ctrl.Result{}, err
		}
	}
	return r.ask(ctx, turn, held, open, item, source, derive.SummaryRequest(item, source, request, open.page.text))
}

// ask has the article judged and summarized, and records what came of it, or puts the attempt away
// until it goes on.
func (r *FeedItemReconciler) ask(ctx context.Context, turn *schedule.Turn, held *tickets, open *openAttempt,
	item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, request provider.Request,
) (ctrl.Result, error) {
	open.begin(r.Clock.Now())
	outcome, err := r.generate(ctx, turn, held, open, item, source, request)
	switch {
	case errors.Is(err, provider.ErrWaits):
		open.notBefore = open.NotBefore
		r.open.keep(item, open)
		r.wakeAt(item, open.NotBefore)
		r.wakeAt(item, open.GoOnBy)
		return ctrl.Result{}, nil
	case errors.Is(err, provider.ErrNoneAvailable): // it was closed or deleted just now
		return queue.RequeueAt(r.Clock.Now(), r.Clock.Now().Add(time.Second)), nil
	case err != nil:
		return ctrl.Result{}, err
	}
	if outcome.Verdict.Passed() && outcome.Summary == nil && outcome.Failure == nil {
		r.open.keep(item, open) // the text is needed again for the summary
	}
	return r.settleAndPost(ctx, turn, item, source, outcome)
}

// findChain finds the providers that an attempt may call. The outcome is set where none needs to be asked.
func (r *FeedItemReconciler) findChain(ctx context.Context, held *tickets, item *v1alpha1.FeedItem,
	source *v1alpha1.FeedSource, open *openAttempt,
) (*lifecycle.Outcome, error) {
	var err error
	if held.chain, err = r.chainOf(ctx, item, source); err != nil {
		return nil, err
	}
	held.first = able(held.chain, derive.ToBeScreened(item, source))
	if open.Begun() { // what was refused since is one of its failures, or passed over
		return nil, nil
	}
	if outcome, refused := r.allRefused(item, held.first); refused {
		return &outcome, nil
	}
	return nil, nil
}

// failed is the outcome of an attempt that ended with an error.
func failed(item *v1alpha1.FeedItem, err error, stage v1alpha1.Stage, object string,
	reason v1alpha1.Reason, now metav1.Time,
) lifecycle.Outcome {
	return lifecycle.Outcome{
		Token:      lifecycle.Token(item),
		Failure:    failure.Record(err, stage, object, now.Time),
		Reason:     reason,
		RetryAfter: failure.Classify(err).RetryAfter,
	}
}

// settle writes down what an attempt came to.
func (r *FeedItemReconciler) settle(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, outcome lifecycle.Outcome) (ctrl.Result, error) {
	return r.after(r.writeOutcome(ctx, item, source, outcome))
}

// after says when to look again at an item that was written, or that was not (nil): then somebody
// else was first, or the answer of the API server was lost though it has written it, or what is known is kept.
func (r *FeedItemReconciler) after(written *v1alpha1.FeedItem, err error) (ctrl.Result, error) {
	switch now := r.Clock.Now(); {
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case written == nil:
		return queue.RequeueAt(now, now), nil
	}
	return r.whatNext(written), nil
}

// writeOutcome writes down what an attempt came to, whatever happened to the item meanwhile, and
// tells about it once it is written. It returns the item as it is then, or nil if the outcome does
// not belong on it any more, or is kept because the API server does not take it.
func (r *FeedItemReconciler) writeOutcome(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
	outcome lifecycle.Outcome,
) (*v1alpha1.FeedItem, error) {
	outcome.Releases = retry.ReleasesOf(context.WithoutCancel(ctx), r.Client, item, outcome.ProviderFailures...)
	return r.writeResult(ctx, item, &attemptResult{
		reconciler: r, source: source, began: item.DeepCopy(), outcome: outcome, at: r.Clock.Now(),
	})
}

// whatNext says when to look at an item again of which the status is known.
func (r *FeedItemReconciler) whatNext(item *v1alpha1.FeedItem) ctrl.Result {
	now := r.Clock.Now()
	step := lifecycle.Next(item, now)
	if done, result := r.nothingToDo(item, step); done {
		return result
	}
	return queue.RequeueAt(now, now)
}

func (r *FeedItemReconciler) now() metav1.Time { return metav1.NewTime(r.Clock.Now()) }

// endedAlready says that an item has ended as this outcome ends it: most likely the API server took
// that, and only its answer was lost. It is good for telling of it, and for nothing more: it may
// have been another operator, and no right to post follows from it.
func endedAlready(began, live *v1alpha1.FeedItem, outcome lifecycle.Outcome, source *v1alpha1.FeedSource, now time.Time) bool {
	expected := began.DeepCopy()
	lifecycle.Settle(expected, outcome, lifecycle.PolicyOf(source), now.Truncate(time.Second)) // as the API keeps it
	return live.Terminal() && lifecycle.SameAttempt(expected, live)
}
