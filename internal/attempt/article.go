// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// readPage reads the article of an open attempt. It is done where the attempt ends with that, or has
// to wait.
func (e *Engine) readPage(ctx context.Context, turn *schedule.Turn, held *tickets, open *openAttempt,
	item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, request article.Request,
) (done bool, result ctrl.Result, err error) {
	host := ""
	if request.NeedsPage() {
		host = outbound.HostOf(request.URL)
	}
	if ready, err := e.acquire(ctx, turn, held, item, host); err != nil || !ready {
		e.Open.keep(item, open)
		return true, ctrl.Result{}, err // parked: woken when its turn comes
	}
	ctx = open.begin(ctx, e.Tracer, item, e.Clock.Now())
	reading := open.told()
	if host != "" {
		e.Stream.StageStarted(item, reading, v1alpha1.StageArticle, host, e.Clock.Now())
	}
	if held.page != nil {
		request.Received = held.page.Host.Done // the host is free for others as soon as it has answered
	}
	back := held.lend(e.Clock)
	text, err := e.fetch(ctx, host, request)
	back()
	if ctx.Err() != nil {
		return true, ctrl.Result{}, nil //nolint:nilerr // the manager is stopping; nothing was paid for, nothing counts
	}
	if held.page != nil && !e.Web.Ended(held.page, item.Namespace, host, time.Time{}, err) {
		e.Open.keep(item, open)
		return true, queue.RequeueAt(e.Clock.Now(), e.Clock.Now()), nil // it waits for the network, as the others do
	}
	if errors.Is(err, budget.ErrFull) {
		return true, ctrl.Result{}, e.waitForRoom(ctx, item, open)
	}
	open.full = budget.MemoryBackoff{}
	if err != nil {
		if open.pageFailed(err, e.InPlace, item, e.Clock.Now()) {
			e.Stream.CallFailed(item, reading, v1alpha1.StageArticle, host, failure.Classify(err), e.Clock.Now())
			e.Open.keep(item, open)
			e.Results.WakeAt(item, open.notBefore)
			return true, ctrl.Result{}, nil
		}
		outcome := articleFailed(item, err, host, e.Results.Now())
		outcome.Began = open.since
		open.fails(outcome)
		result, err = e.Results.Settle(ctx, item, source, outcome)
		return true, result, err
	}
	if host != "" {
		e.Stream.ArticleRead(item, reading, host, e.Clock.Now())
	}
	if outcome, known := judgedBefore(item, source, text); known && !retry.RequestsFor(ctx, e.Client, item).Covers(item) {
		outcome.Began = open.since
		result, err = e.Results.Settle(ctx, item, source, outcome)
		return true, result, err
	}
	open.page.text, open.page.read = text, e.Clock.Now()
	return false, ctrl.Result{}, nil
}

// fetch reads the article, from a host if it is not what the feed itself says.
func (e *Engine) fetch(ctx context.Context, host string, request article.Request) (article.Article, error) {
	if host == "" {
		return e.Articles.Fetch(ctx, request)
	}
	ctx, span := tracing.Article(ctx, host)
	defer span.End()
	text, err := e.Articles.Fetch(ctx, request)
	span.Fail(err)
	return text, err
}

// waitForRoom puts away an attempt that has found no room in memory, until it is worth another look. Nothing has failed;
// where that has gone on for long, the item says for what it waits.
func (e *Engine) waitForRoom(ctx context.Context, item *v1alpha1.FeedItem, open *openAttempt) error {
	now := e.Clock.Now()
	open.notBefore = open.full.Again(item.UID, now)
	e.Open.keep(item, open)
	e.Results.WakeAt(item, open.notBefore)
	if !open.full.Long(now) {
		return nil
	}
	return e.Results.MarkWaitingFor(ctx, item, []string{budget.WithoutRoom})
}

// articleRequest is derive.ArticleRequest, with what the item itself holds counted in the room.
func (e *Engine) articleRequest(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
	room *budget.Room,
) (article.Request, error) {
	const much = 512 << 10 // what takes less is not worth a wait
	if takes := derive.ArticleRequestTakes(item); takes > much {
		_, done, err := room.Work(ctx, takes)
		if err != nil {
			return article.Request{}, err
		}
		defer done()
	}
	request, err := derive.ArticleRequest(item, source)
	if err != nil {
		return request, err
	}
	request.Room = room
	return request, room.Grow(int64(len(request.FeedText)))
}

// readsDocuments reports whether any provider of a chain reads PDF documents as they are.
func readsDocuments(chain []link) bool {
	return slices.ContainsFunc(chain, func(next link) bool { return next.documents })
}

// articleFailed is the outcome of an attempt that did not get the article. Every such failure is
// worth another try, because pages appear late; but not one that is too large, or has nothing to be read.
func articleFailed(item *v1alpha1.FeedItem, err error, host string, now metav1.Time) lifecycle.Outcome {
	cause := failure.Classify(err)
	reason := derive.ArticleReason(cause)
	if derive.Skips(reason) {
		return lifecycle.Outcome{Token: lifecycle.Token(item), Skipped: reason}
	}
	outcome := results.Failed(item, err, v1alpha1.StageArticle, host, reason, now)
	outcome.Failure.Retryable = true
	return outcome
}
