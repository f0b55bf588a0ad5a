// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// Result is what is known of an item and is to be written on it: it has cost money, or others see it already. It is
// always written as of the time when it became known.
type Result interface {
	// About names the part of the item that it belongs to. There is one result about each at a time.
	About() string
	// Write writes it on an item, whatever happened to that meanwhile, and reports it once it is written. It returns
	// the item as it is then; nil where the result does not belong on it any more.
	Write(ctx context.Context, item *v1alpha1.FeedItem, tries int) (*v1alpha1.FeedItem, error)
	// PutAway drops what is not needed to write it later, and returns how much memory the rest takes, about, in bytes.
	PutAway() int64
}

// attemptResult is what an attempt at a summary came to.
type attemptResult struct {
	results *Results
	source  *v1alpha1.FeedSource
	began   *v1alpha1.FeedItem // as it was when the attempt began
	outcome lifecycle.Outcome
	at      time.Time
	trace   string // that the attempt belongs to
}

func (a *attemptResult) About() string { return "summary" }

func (a *attemptResult) Write(ctx context.Context, item *v1alpha1.FeedItem, tries int) (*v1alpha1.FeedItem, error) {
	outcome := a.outcome
	settled, err := a.settle(ctx, item, outcome, tries)
	if _, dropped := errors.AsType[*record.DroppedError](err); dropped && len(outcome.Intents) > 0 {
		outcome.Intents = nil // what was paid for is written down all the same, and nothing is posted
		settled, err = a.settle(ctx, item, outcome, tries)
	}
	if err != nil && neverTaken(err) { // else it would be worked out, and refused, for ever
		refused := failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, "The API server refuses the result: "+err.Error())
		outcome = Failed(item, refused, v1alpha1.StageSummarize, "", v1alpha1.ReasonInvalidContent, a.results.Now())
		outcome.Began, outcome.RetryRequests = a.outcome.Began, a.outcome.RetryRequests
		settled, err = a.settle(ctx, item, outcome, tries)
	}
	return settled, err
}

// neverTaken reports whether an API server has refused a result for what it is, such as for its size: also another time, and whoever comes with it.
func neverTaken(err error) bool {
	return !itemwrites.WorthKeeping(err) && !apierrors.IsNotFound(err)
}

// settle writes an outcome, and reports it. It returns the item, or nil if the outcome does not belong on it any more.
func (a *attemptResult) settle(ctx context.Context, item *v1alpha1.FeedItem, outcome lifecycle.Outcome, tries int) (*v1alpha1.FeedItem, error) {
	var settled, ended *v1alpha1.FeedItem
	var history []v1alpha1.HistoryEntry
	err := a.results.RecordItem(ctx, a.source, item, tries, func(live *v1alpha1.FeedItem) bool {
		settled = nil
		if !lifecycle.SameAttempt(a.began, live) { // another attempt has written its outcome meanwhile, or this one
			if endedAlready(a.began, live, outcome, a.source, a.at) {
				ended = live
			}
			return false
		}
		history = live.Status.History
		lifecycle.Settle(live, outcome, backoff.Of(a.source), a.at)
		settled = live
		return true
	})
	if err != nil {
		return nil, err
	}
	if told := cmp.Or(settled, ended); told != nil {
		a.results.streamAttempt(history, a.began, told, a.source, outcome, a.at, a.trace)
		a.results.EmitEvents(a.began, told)
	}
	return settled, nil
}

// putAway drops the intents too: the posts that they announce are not made before they are written.
func (a *attemptResult) PutAway() int64 {
	a.outcome.Intents = nil
	a.began = SlimCopy(a.began)
	return WeightOf(a.outcome, a.began, a.source)
}

// noticeResult is what a notification came to.
type noticeResult struct {
	results *Results
	item    *v1alpha1.FeedItem
	outcome lifecycle.NotificationOutcome
	at      time.Time
}

func (n *noticeResult) About() string { return "notice/" + n.outcome.Destination }

func (n *noticeResult) Write(ctx context.Context, item *v1alpha1.FeedItem, tries int) (*v1alpha1.FeedItem, error) {
	var settled *v1alpha1.FeedItem
	var history []v1alpha1.HistoryEntry
	err := n.results.record(ctx, item, tries, func(live *v1alpha1.FeedItem) bool {
		settled, history = nil, live.Status.History
		if live.UID != n.item.UID || !lifecycle.SettleNotification(live, n.outcome, n.at) {
			return false
		}
		settled = live
		return true
	})
	if err != nil || settled == nil {
		return nil, err
	}
	n.results.StreamEntries(history, settled, telemetry.Attempt{Began: n.outcome.Began, MaxRetries: lifecycle.MaxNotificationAttempts - 1}, n.at)
	return settled, nil
}

func (n *noticeResult) PutAway() int64 {
	n.item = SlimCopy(n.item)
	return WeightOf(n.outcome, n.item)
}

// SlimCopy is an item without its texts, for what is asked about the time before a result.
func SlimCopy(item *v1alpha1.FeedItem) *v1alpha1.FeedItem {
	slim := *item
	slim.Spec.Content, slim.Spec.CompressedContent = "", ""
	slim.Status.History = nil
	if slim.Status.Summary != nil {
		slim.Status.Summary = itemcache.SomeSummary // that there is one is what is asked
	}
	return slim.DeepCopy()
}

// WeightOf is how much memory values take, about.
func WeightOf(values ...any) int64 {
	const overhead = 4 << 10
	weight := int64(overhead)
	for _, value := range values {
		text, _ := json.Marshal(value) // none of them can fail
		weight += int64(len(text))
	}
	return weight
}

// RecordNotification writes down what a notification has come to, whatever happened to the item
// meanwhile, and logs it. Where the API server does not take it, it is kept.
func (r *Results) RecordNotification(ctx context.Context, item *v1alpha1.FeedItem, outcome lifecycle.NotificationOutcome) error {
	_, err := r.WriteResult(ctx, item, &noticeResult{results: r, item: item.DeepCopy(), outcome: outcome, at: r.Clock.Now()})
	return client.IgnoreNotFound(err)
}
