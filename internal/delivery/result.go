// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// deliveryResult is what a delivery came to.
type deliveryResult struct {
	engine  *Engine
	post    *post
	before  *v1alpha1.FeedItem
	outcome lifecycle.DeliveryOutcome
	at      time.Time
	trace   string // that the delivery belongs to
}

func (d *deliveryResult) About() string { return "delivery/" + d.post.Destination }

func (d *deliveryResult) Write(ctx context.Context, item *v1alpha1.FeedItem, tries int) (*v1alpha1.FeedItem, error) {
	var written, there *v1alpha1.FeedItem
	var history []v1alpha1.HistoryEntry
	err := d.engine.Results.RecordItem(ctx, d.post.source, item, tries, func(live *v1alpha1.FeedItem) bool {
		written, there, history = nil, live, live.Status.History
		if live.UID != d.before.UID || !lifecycle.SettleDelivery(live, d.outcome, d.post.Policy, d.at) {
			return false
		}
		written = live
		return true
	})
	if err != nil {
		return nil, err
	}
	if written == nil {
		d.engine.noteTaken(d.before, there, d.post, &d.outcome, d.at)
		return nil, nil
	}
	d.post.endHold(written)
	d.engine.Observed.ForgetEnded(written)
	d.engine.streamDelivery(history, written, d.post, &d.outcome, d.trace)
	d.engine.Results.EmitEvents(d.before, written)
	return written, nil
}

// noteTaken counts and tells a post, where the API server has taken what it came to and only the answer to that was lost: somebody has written on the
// item what was to be written, for the same time, and it was nobody else. Another operator that has found the post has written, and counted, it for
// another time.
func (e *Engine) noteTaken(before, item *v1alpha1.FeedItem, p *post, outcome *lifecycle.DeliveryOutcome, at time.Time) {
	row := lifecycle.RowOf(item, p.Destination)
	if outcome == nil || !outcome.Posted || item.UID != before.UID || row == nil || row.State != v1alpha1.DeliveryDone || row.ID != outcome.ID ||
		row.Time == nil || row.Time.Unix() != at.Unix() {
		return
	}
	e.Services.Posted(p.Resource, outcome.Duplicate)
	e.Results.EmitEvents(before, item)
}

func (d *deliveryResult) PutAway() int64 {
	p := d.post
	d.post = &post{Line: &posting.Line{Destination: p.Destination, Resource: p.Resource, Policy: p.Policy}, source: p.source, decided: p.decided}
	d.before = results.SlimCopy(d.before)
	return results.WeightOf(d.outcome, d.before, p.source)
}

// streamDelivery reports what an attempt at a delivery came to, once that is written.
func (e *Engine) streamDelivery(history []v1alpha1.HistoryEntry, after *v1alpha1.FeedItem, p *post, outcome *lifecycle.DeliveryOutcome,
	trace string,
) {
	attempt := telemetry.Attempt{MaxRetries: p.Policy.MaxRetries, Trace: trace}
	if outcome != nil {
		attempt.Began, attempt.Found = outcome.Began, p.decided != nil && p.decided.Posted
	}
	if row := lifecycle.RowOf(after, p.Destination); outcome != nil && outcome.Posted && row != nil && row.State == v1alpha1.DeliveryDone {
		e.Services.Posted(p.Resource, outcome.Duplicate)
	}
	e.Results.StreamEntries(history, after, attempt, e.Clock.Now())
}
