// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// BuiltinProvider is the name on a summary of the summarizer that needs no AIProvider.
const BuiltinProvider = "extractive (built in)"

// The classes of who waits in the schedule, the first before the others.
const (
	classPolls = iota // few, and all else comes from them
	classPending
	classOthers
)

// link is one provider that an item may use, with what the schedule knows it by.
type link struct {
	provider.Link
	resource schedule.Resource
	// unavailable says why it cannot be used until a person changes something; empty: it can.
	unavailable string
}

// chainOf returns the providers that a source names, in order; the built-in one if it names none.
func (r *FeedItemReconciler) chainOf(ctx context.Context, source *v1alpha1.FeedSource) ([]link, error) {
	if len(source.Spec.Providers) == 0 {
		builtin := provider.Link{Name: BuiltinProvider, Provider: r.Builtin, Timeout: v1alpha1.DefaultProviderTimeout}
		return []link{{Link: builtin, resource: builtinResource}}, nil
	}
	chain := make([]link, 0, len(source.Spec.Providers))
	for _, ref := range source.Spec.Providers {
		key := types.NamespacedName{Namespace: source.Namespace, Name: ref.Name}
		next := link{Link: provider.Link{Name: ref.Name}, resource: providerResource(key)}
		var found v1alpha1.AIProvider
		switch err := r.Client.Get(ctx, key, &found); {
		case apierrors.IsNotFound(err):
			next.unavailable = "it does not exist in this namespace"
			r.Schedule.Remove(next.resource)
		case err != nil:
			return nil, err
		case found.Spec.Suspend:
			next.unavailable = "it is suspended"
			openProvider(r.Schedule, &found)
		default:
			openProvider(r.Schedule, &found)
			if next.Provider, err = r.Providers(&found); err != nil {
				next.unavailable = err.Error()
				r.Schedule.Remove(next.resource)
			}
			next.Timeout = found.Timeout()
		}
		chain = append(chain, next)
	}
	return chain, nil
}

// tickets are what an attempt holds of the schedule.
type tickets struct {
	chain    []link
	provider *schedule.Ticket
	host     *schedule.Ticket
}

// acquire takes what an attempt begins with; without it the item is parked, and woken when its turn
// comes.
//
// Where a page is needed and a provider is free, that is the page's host only: while the page is
// fetched, which a slow host may draw out, the provider is free for others (acquireProvider takes
// it then). Where the providers are busy, the item waits for one of them and for the host at once,
// so that no page is fetched long before its turn.
func (r *FeedItemReconciler) acquire(ctx context.Context, turn *schedule.Turn,
	item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, host string,
) (*tickets, error) {
	chain, err := r.chainOf(ctx, source)
	if err != nil {
		return nil, err
	}
	held, rank := &tickets{chain: chain}, rankOf(item)
	if host == "" {
		ready, err := r.acquireProvider(ctx, turn, held, item)
		if !ready {
			return nil, err
		}
		return held, nil
	}
	page := []schedule.Resource{hostResource(host)}
	if r.Schedule.Free(resourcesOf(chain)...) {
		if held.host, _ = turn.Acquire(rank, page...); held.host == nil {
			return nil, nil
		}
		return held, nil
	}
	taken, granted := turn.AcquireAll(rank, resourcesOf(chain), page)
	if !granted {
		return nil, r.hold(ctx, item, chain)
	}
	held.provider, held.host = taken[0], taken[1]
	return held, nil
}

// acquireProvider takes a ticket of the first provider that is free, unless it is held already.
// Without one the item is parked.
func (r *FeedItemReconciler) acquireProvider(ctx context.Context, turn *schedule.Turn, held *tickets, item *v1alpha1.FeedItem) (bool, error) {
	if held.provider == nil {
		ticket, granted := turn.Acquire(rankOf(item), resourcesOf(held.chain)...)
		if !granted {
			return false, r.hold(ctx, item, held.chain)
		}
		held.provider = ticket
	}
	return true, nil
}

// pageRead gives the host to the next.
func (t *tickets) pageRead() {
	if t.host != nil {
		t.host.Done()
	}
}

// giveBack returns the provider's ticket, if it was not used.
func (t *tickets) giveBack() {
	if t.provider != nil {
		t.provider.Release()
	}
}

// hold writes on an item that is parked what it waits for, if that is more than its turn.
func (r *FeedItemReconciler) hold(ctx context.Context, item *v1alpha1.FeedItem, chain []link) error {
	var reasons []string
	for _, next := range chain {
		if next.unavailable == "" {
			return nil
		}
		reasons = append(reasons, fmt.Sprintf("AIProvider %q: %s", next.Name, next.unavailable))
	}
	return claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		return lifecycle.Hold(item, "Waits for "+strings.Join(reasons, "; "), r.Clock.Now())
	})
}

// links are the providers of the chain, without what the schedule knows them by.
func (t *tickets) links() []provider.Link {
	links := make([]provider.Link, 0, len(t.chain))
	for _, next := range t.chain {
		links = append(links, next.Link)
	}
	return links
}

// hand returns what lets an attempt call the providers of its chain: the one that it holds a
// ticket for, and when that has failed, those that are free at that moment.
func (t *tickets) hand(turn *schedule.Turn, rank schedule.Rank) provider.Acquire {
	usable := map[string]schedule.Resource{}
	for _, next := range t.chain {
		if next.unavailable == "" {
			usable[next.Name] = next.resource
		}
	}
	return func(_ context.Context, link provider.Link) (func(error), bool) {
		ticket := t.provider
		resource, known := usable[link.Name]
		if !known {
			return nil, false
		}
		if resource != ticket.Resource() {
			var free bool
			if ticket, free = turn.Try(rank, resource); !free {
				return nil, false
			}
		}
		return func(error) { ticket.Done() }, true
	}
}

func resourcesOf(chain []link) []schedule.Resource {
	resources := make([]schedule.Resource, 0, len(chain))
	for _, next := range chain {
		resources = append(resources, next.resource)
	}
	return resources
}

// rankOf says who goes first where capacity is scarce: of the pending items the one that was
// published first, then of all others the one that was looked at longest ago.
func rankOf(item *v1alpha1.FeedItem) schedule.Rank {
	rank := schedule.Rank{Class: classOthers, Time: item.LastCheck().Time, Name: item.Namespace + "/" + item.Name}
	if item.Status.Phase == v1alpha1.PhasePending {
		rank.Class, rank.Time = classPending, item.Published().Time
	}
	return rank
}

// builtinResource is the built-in summarizer: it has no limit but the number of workers.
var builtinResource = schedule.Resource{Kind: schedule.KindProvider}

func providerResource(key types.NamespacedName) schedule.Resource {
	return schedule.Resource{Kind: schedule.KindProvider, Name: key.String()}
}

func hostResource(host string) schedule.Resource {
	return schedule.Resource{Kind: schedule.KindHost, Name: strings.ToLower(host)}
}

// openProvider tells the schedule how hard a provider may be asked, or that it may not.
func openProvider(s *schedule.Schedule, found *v1alpha1.AIProvider) {
	resource := providerResource(client.ObjectKeyFromObject(found))
	state := schedule.Availability{}
	if found.Spec.Suspend {
		state.State = schedule.StateDown
	}
	if s.Availability(resource).State == schedule.StateDown || found.Spec.Suspend {
		s.SetAvailability(resource, state)
	}
	s.Configure(resource, schedule.Limit{PerMinute: found.RequestsPerMinute(), Concurrent: found.MaxConcurrent()})
}

// seeder opens the schedule after a start: first everybody who waits is in line, then the first
// is let through. Else those would go first whom the cache happens to list first.
type seeder struct {
	reconciler *FeedItemReconciler
	synced     func(context.Context) bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *seeder) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (s *seeder) Start(ctx context.Context) error {
	if !s.synced(ctx) {
		return ctx.Err()
	}
	r := s.reconciler
	var items v1alpha1.FeedItemList
	if err := r.Client.List(ctx, &items, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	sources := map[types.NamespacedName]*v1alpha1.FeedSource{}
	for i := range items.Items {
		if err := s.seed(ctx, &items.Items[i], sources, r.Clock.Now()); err != nil {
			return err
		}
	}
	r.Schedule.Open()
	return nil
}

// seed puts one item in line for a provider, if it is due. Which page it needs shows later.
func (s *seeder) seed(ctx context.Context, item *v1alpha1.FeedItem, sources map[types.NamespacedName]*v1alpha1.FeedSource, now time.Time) error {
	if lifecycle.Next(item, now).Action != lifecycle.Summarize {
		return nil
	}
	r := s.reconciler
	key := types.NamespacedName{Namespace: item.Namespace, Name: item.Spec.SourceRef.Name}
	source, known := sources[key]
	if !known {
		var err error
		if source, err = sourceOf(ctx, r.Client, item); err != nil {
			return err
		}
		sources[key] = source
	}
	if source == nil || source.UID != item.Spec.SourceRef.UID || source.Spec.Suspend {
		return nil
	}
	chain, err := r.chainOf(ctx, source)
	if err != nil {
		return err
	}
	turn := r.Schedule.Enter(scheduleKey(itemKey, client.ObjectKeyFromObject(item)))
	defer turn.Leave()
	if ticket, granted := turn.Acquire(rankOf(item), resourcesOf(chain)...); granted {
		ticket.Release()
	}
	return nil
}
