// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/tracing"
	"github.com/feed-operator/feed-operator/internal/web"
)

// acquire takes what an attempt begins with; without it the item is parked, and woken when its turn
// comes.
//
// Where a page is needed and a provider is free, that is the page's host only: while the page is
// fetched, which a slow host may draw out, the provider is free for others (acquireProvider takes
// it then). Where the providers are busy, the item waits for one of them and for the host at once,
// so that no page is fetched long before its turn.
func (e *Engine) acquire(ctx context.Context, turn *schedule.Turn, held *tickets, item *v1alpha1.FeedItem, host string) (bool, error) {
	rank := RankOf(item, e.Clock.Now())
	if host == "" {
		return e.acquireProvider(ctx, turn, held, item)
	}
	if e.Schedule.Free(resourcesOf(held.first)...) {
		taken, granted := turn.AcquireAll(rank, web.Needs(queue.ItemPlaces, item.Namespace, host)...)
		if granted {
			held.page = e.Web.VisitOf(taken, item.Namespace, host)
		}
		return granted, nil
	}
	taken, granted := turn.AcquireAll(rank, append(web.Needs(queue.ItemPlaces, item.Namespace, host), resourcesOf(held.first))...)
	if !granted {
		return false, e.markWaiting(ctx, turn, item, held)
	}
	held.page, held.provider = e.Web.VisitOf(taken, item.Namespace, host), taken[len(taken)-1]
	return true, nil
}

// acquireProvider takes a ticket of the first provider that is free, unless it is held already.
// Without one the item is parked.
func (e *Engine) acquireProvider(ctx context.Context, turn *schedule.Turn, held *tickets, item *v1alpha1.FeedItem) (bool, error) {
	if held.provider == nil {
		taken, granted := turn.AcquireAll(RankOf(item, e.Clock.Now()), queue.Only(queue.ItemPlaces), resourcesOf(held.first))
		if !granted {
			return false, e.markWaiting(ctx, turn, item, held)
		}
		held.provider = taken[1]
	}
	return true, nil
}

// markWaiting has an item that is parked wait, too, for a change of the providers that cannot do what it needs first, and writes on it what it waits for, if
// that is more than its turn.
func (e *Engine) markWaiting(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, held *tickets) error {
	turn.Acquire(RankOf(item, e.Clock.Now()), changesOf(held.chain, held.first)...)
	var reasons []string
	for _, next := range held.first {
		because := cmp.Or(next.unavailable, e.Services.PauseReason(next.resource))
		if because == "" {
			return nil
		}
		reasons = append(reasons, fmt.Sprintf("AIProvider %q: %s", next.Name, because))
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "an AIProvider that can judge by spec.screening.criteria; the built-in summarizer cannot")
	}
	return e.Results.MarkWaitingFor(ctx, item, reasons)
}

// providerCalls returns what lets an attempt call the providers of its chain: the one that it holds a
// ticket for, and when that has failed, those that are free or soon will be.
func (e *Engine) providerCalls(ctx context.Context, t *tickets, open *openAttempt, turn *schedule.Turn,
	item *v1alpha1.FeedItem, stage v1alpha1.Stage,
) provider.Acquire {
	rank := RankOf(item, e.Clock.Now())
	return func(_ context.Context, asked []provider.Link) (provider.Call, error) {
		if ctx.Err() != nil && open.Begun() { // the manager is stopping: what has failed is written down, and nobody else is called
			return provider.Call{}, provider.ErrNoneAvailable
		}
		if e.Writes.Held(item.Namespace) || e.Results.Kept.Full(item.Namespace) {
			e.Writes.Wait(turn, item)
			return provider.Call{}, provider.ErrWaits
		}
		usable := t.usable(asked)
		ticket := t.pop(usable)
		if ticket == nil && len(usable) > 0 {
			taken, waits := turn.AcquireSoon(rank, queue.Only(queue.ItemPlaces), resourcesOf(usable))
			if waits {
				return provider.Call{}, provider.ErrWaits
			}
			if taken != nil {
				ticket = taken[1]
			}
		}
		if ticket == nil {
			return provider.Call{}, provider.ErrNoneAvailable
		}
		next := usable[slices.IndexFunc(usable, func(next link) bool { return next.resource == ticket.Resource() })]
		attempt := open.told()
		began, passed := e.Clock.Now(), apiclock.PassedBy(e.Clock)
		var span tracing.Span
		enter := func(ctx context.Context) context.Context {
			ctx, span = tracing.ProviderCall(ctx, stage, next.Name, next.model)
			return ctx
		}
		e.Stream.StageStarted(item, attempt, stage, next.Name, began)
		return provider.Call{Link: next.Link, Enter: enter, Done: func(response provider.Response, err error) {
			span.Generated(next.model, response.Model, response.Tokens)
			span.Fail(err)
			span.End()
			failed, ok := errors.AsType[*failure.Error](err)
			if ok {
				e.Stream.CallFailed(item, attempt, stage, next.Name, failed, e.Clock.Now())
				e.Metrics.ProviderFailed(next.kind, failed.Category)
			}
			if err == nil || ok { // else it was cut off
				e.Metrics.ProviderCalled(next.kind, stage, apiclock.PassedBy(e.Clock)-passed, response.Tokens)
			}
			if e.Services.CallEnded(ticket, next.revision, stage, response.Tokens, err) {
				open.askAgain[next.Name] = true
			}
		}}, nil
	}
}

// changesOf are the changes of the links of a chain that are not among some of them.
func changesOf(chain, but []link) []schedule.Resource {
	var changes []schedule.Resource
	for _, next := range chain {
		if !slices.ContainsFunc(but, func(other link) bool { return other.resource == next.resource }) {
			changes = append(changes, schedule.ChangeOf(next.resource))
		}
	}
	return changes
}

func resourcesOf(chain []link) []schedule.Resource {
	resources := make([]schedule.Resource, 0, len(chain))
	for _, next := range chain {
		resources = append(resources, next.resource)
	}
	return resources
}

// RankOf returns who goes first where capacity is scarce: of the pending items the one that was
// published first, then of all others the one that was looked at longest ago.
func RankOf(item *v1alpha1.FeedItem, now time.Time) schedule.Rank {
	rank := schedule.Rank{Class: queue.ClassOthers, Time: lifecycle.CheckedAt(item, now), Name: item.Namespace + "/" + item.Name, Owner: queue.ItemOwner(item)}
	if item.Status.Phase == v1alpha1.PhasePending {
		rank.Class, rank.Time = queue.ClassPending, item.Published().Time
	}
	return rank
}
