// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// summarize makes one attempt: it reads the article, has it summarized, and records what came of
// it. Where a provider or the host of the page is not free, the item is parked instead.
func (r *FeedItemReconciler) summarize(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (ctrl.Result, error) {
	request, err := articleRequest(item, source)
	if err != nil {
		return r.settle(ctx, item, source, failed(item, err, v1alpha1.StageArticle, "", v1alpha1.ReasonInvalidContent, r.now()))
	}
	host := ""
	if request.NeedsPage() {
		host = hostOf(request.URL)
	}
	held, err := r.acquire(ctx, turn, item, source, host)
	if err != nil || held == nil {
		return ctrl.Result{}, err // parked: woken when its turn comes
	}
	defer held.giveBack()
	text, err := r.Articles.Fetch(ctx, request)
	held.pageRead()
	if ctx.Err() != nil {
		return ctrl.Result{}, nil // the manager is stopping; nothing was paid for, nothing counts
	}
	if err != nil {
		return r.settle(ctx, item, source, articleFailed(item, err, host, r.now()))
	}
	if ready, err := r.acquireProvider(ctx, turn, held, item); err != nil || !ready {
		return ctrl.Result{}, err
	}
	outcome, err := r.generate(ctx, turn, held, item, provider.Request{
		Title:         item.Spec.Title,
		Text:          text.Text,
		Description:   descriptionOf(request, text),
		MaxCharacters: source.MaxCharacters(),
	})
	if errors.Is(err, provider.ErrNoneAvailable) { // it was deleted just now
		return lookAgain(r.Clock.Now(), r.Clock.Now().Add(time.Second)), nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.settle(ctx, item, source, outcome)
}

// articleRequest says where the text of an item comes from. It fails where the item's own content
// cannot be read.
func articleRequest(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (article.Request, error) {
	content, err := feed.Unpack(item.Spec.Content, item.Spec.CompressedContent)
	if err != nil {
		return article.Request{}, err
	}
	return article.Request{
		URL:      item.Spec.URL,
		Title:    item.Spec.Title,
		FeedText: feed.Text(content),
		Source:   source.ArticleSource(),
		MaxBytes: source.MaxArticleBytes(),
		Timeout:  source.FetchTimeout(),
	}, nil
}

// descriptionOf is what the feed says of an article whose text came from elsewhere.
func descriptionOf(request article.Request, text article.Article) string {
	if text.FromFeed {
		return ""
	}
	return request.FeedText
}

// articleFailed is the outcome of an attempt that did not get the article. Every such failure is
// worth another try, because pages appear late; only one that is too large is not.
func articleFailed(item *v1alpha1.FeedItem, err error, host string, now metav1.Time) lifecycle.Outcome {
	cause := failure.Classify(err)
	if cause.Type == failure.TypeTooLarge {
		return lifecycle.Outcome{Token: lifecycle.Token(item), Skipped: v1alpha1.ReasonLargeFileSkipped}
	}
	reason := v1alpha1.ReasonDownloadFailed
	if cause.Type == article.TypeNotReady {
		reason = v1alpha1.ReasonPageNotReady
	}
	outcome := failed(item, err, v1alpha1.StageArticle, host, reason, now)
	outcome.Failure.Retryable = true
	return outcome
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

// generate asks the providers, in order. From here on a stop of the manager does not end the
// attempt: what was asked for is waited for and written down.
func (r *FeedItemReconciler) generate(ctx context.Context, turn *schedule.Turn, held *tickets,
	item *v1alpha1.FeedItem, request provider.Request,
) (lifecycle.Outcome, error) {
	result, failures, err := provider.Generate(context.WithoutCancel(ctx), held.links(), request, held.hand(turn, rankOf(item)))

	outcome := lifecycle.Outcome{Token: lifecycle.Token(item)}
	var none *provider.ChainError
	switch {
	case err == nil:
		outcome.Summary = &v1alpha1.Summary{
			Text: result.Response.Summary, Provider: result.Provider,
			Model: cut(result.Response.Model, 253), Tokens: result.Response.Tokens,
		}
	case errors.As(err, &none):
		// What is recorded is the failure that leaves most hope: it decides about a retry.
		outcome = failed(item, none, v1alpha1.StageSummarize, mostHopeful(none), v1alpha1.ReasonAPIFailed, r.now())
	default:
		return outcome, err
	}
	for _, f := range failures {
		outcome.ProviderFailures = append(outcome.ProviderFailures, v1alpha1.ProviderFailure{
			Name: f.Name, Category: f.Err.Category, Count: 1, Time: r.now(),
		})
		ctrl.LoggerFrom(ctx).Info("Provider failed", "provider", f.Name, "category", f.Err.Category, "error", f.Err.Error())
	}
	return outcome, nil
}

// mostHopeful names the provider whose failure failure.Classify finds in a chain's error.
func mostHopeful(none *provider.ChainError) string {
	for _, f := range none.Failures {
		if f.Err == failure.Classify(none) {
			return f.Name
		}
	}
	return ""
}

// settle writes down what an attempt came to, whatever happened to the item meanwhile, and tells
// about it once it is written.
func (r *FeedItemReconciler) settle(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, outcome lifecycle.Outcome) (ctrl.Result, error) {
	ctx, cancel := recording(ctx)
	defer cancel()
	began, now := item.DeepCopy(), r.Clock.Now()
	var settled *v1alpha1.FeedItem
	write := func(outcome lifecycle.Outcome) error {
		return record(ctx, r.Client, r.Live, item, func(live *v1alpha1.FeedItem) bool {
			settled = nil
			if !lifecycle.SameAttempt(began, live) {
				return false // another attempt has written its outcome meanwhile
			}
			lifecycle.Settle(live, outcome, lifecycle.PolicyOf(source), now)
			settled = live
			return true
		})
	}
	err := write(outcome)
	if apierrors.IsInvalid(err) { // else it would be worked out, and refused, for ever
		refused := failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, "The API server does not take the result: "+err.Error())
		err = write(failed(item, refused, v1alpha1.StageSummarize, "", v1alpha1.ReasonInvalidContent, r.now()))
	}
	if err != nil || settled == nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.tell(ctx, began, settled)
	_, result := r.nothingToDo(settled, lifecycle.Next(settled, now))
	return result, nil
}

func (r *FeedItemReconciler) tell(ctx context.Context, before, after *v1alpha1.FeedItem) {
	log := ctrl.LoggerFrom(ctx).WithValues("source", after.Spec.SourceRef.Name, "phase", after.Status.Phase, "reason", after.Status.Reason)
	switch after.Status.Phase {
	case v1alpha1.PhaseFailed:
		telemetry.ItemFailed(r.Recorder, after)
		log.Info("Item failed for good", "retries", after.Status.RetryCount, "error", after.Status.Failure.Message, "severity", "warning")
	case v1alpha1.PhaseDeferred:
		if before.Status.FirstFailureTime == nil {
			telemetry.ItemDeferred(r.Recorder, after)
		}
		log.Info("Item deferred", "retries", after.Status.RetryCount, "error", after.Status.Failure.Message, "nextRetry", after.Status.NextRetryTime.Time)
	case v1alpha1.PhaseProcessed:
		log.Info("Item processed", "provider", providerOf(after))
	case v1alpha1.PhaseUnprocessed, v1alpha1.PhasePending:
	}
}

func providerOf(item *v1alpha1.FeedItem) string {
	if item.Status.Summary == nil {
		return ""
	}
	return item.Status.Summary.Provider
}

func (r *FeedItemReconciler) now() metav1.Time { return metav1.NewTime(r.Clock.Now()) }

func hostOf(raw string) string {
	parsed, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}
