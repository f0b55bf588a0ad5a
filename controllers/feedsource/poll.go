// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/web"
)

// pollResult are what one poll has found, without the entries.
type pollResult struct {
	// unchanged is set when the feed is as it was; then nothing is known of the document.
	unchanged     bool
	title, format string
	// damage is what of the document could not be used; empty: nothing.
	damage string
	// movedTo is where the server says that the feed is now, for good.
	movedTo string
	created int
	// held entries wait in the feed until there is room, limit is the reason why there is none, and today is what
	// the source has created today.
	held  int
	limit string
	today polling.Intake
	// declared is for how long the feed says that it stays as it is.
	declared time.Duration
	// judged is set when the filters have judged entries that were new, and dropped is how many they did not want.
	judged  bool
	dropped int
	// filtersFailing is which filters could not be evaluated.
	filtersFailing string
	// rebuilt is how many entries were marked as seen because the memory was gone; -1: it was there.
	rebuilt int
	// identity is how far GUIDs and URLs identify entries; nil where the document says nothing of them.
	identity *identity
}

// poll asks for the feed once, makes items of what is new, and records how it went. It returns
// when the next poll is due. An error is the API server's: then the poll is made again soon.
func (r *Reconciler) poll(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, visit *web.Visit) (time.Time, error) {
	log := ctrl.LoggerFrom(ctx)
	credentials, err := secrets.OfFeed(ctx, r.Live, source)
	if err != nil {
		return r.credentialsMissing(ctx, source, watch, err)
	}
	token, generation, now := derive.PollToken(source), source.Generation, r.Clock.Now()
	memory, err := r.recall(ctx, source, watch)
	if err != nil {
		return time.Time{}, err
	}
	room := r.Outbound.Budget().Document(source.Namespace)
	defer room.Release()
	found, document, feedErr := r.read(ctx, source, credentials, memory, visit, room)
	if stopping := ctx.Err() != nil; stopping {
		return time.Time{}, nil // an answer that the stop cut off says nothing about the feed
	}
	host := outbound.HostOf(source.Spec.URL)
	if !r.Web.Ended(visit, source.Namespace, host, lastRead(source), feedErr) {
		return now, nil // it waits for the network, as the others do
	}
	if errors.Is(feedErr, budget.ErrFull) { // which says nothing about the feed
		return r.memoryFull(ctx, source, watch, token)
	}
	watch.full = budget.MemoryBackoff{}
	if document != nil {
		err = r.createItems(ctx, source, watch, memory, document, &found)
		if stopping := err != nil && ctx.Err() != nil; stopping {
			return time.Time{}, nil // nor does it say anything about the API server
		}
		watch.complete = err == nil
	}
	watch.lastPoll, watch.generation, watch.token, watch.redo = now, generation, token, time.Time{}
	watch.interval, watch.firstReport = 0, nil
	watch.noteCreated(found.created, now, r.Clock.Now())
	switch {
	case err != nil: // the feed is well
		r.Metrics.FeedRead(len(document.Entries))
		watch.validators = nil
		err = errors.Join(err, r.writeReadiness(ctx, source, notCreated(err, found.held, now.Add(redoAfter(source, err, watch.failedWrites)))))
	case feedErr != nil:
		r.Metrics.PollFailed(failure.Classify(feedErr).Category)
		log.Info("Poll failed", "error", feedErr.Error(), "failures", source.Status.ConsecutiveFailures+1)
		err = r.pollFailed(ctx, source, token, feedErr, now)
	default:
		if found.unchanged {
			r.Metrics.FeedUnchanged()
		} else {
			r.Metrics.FeedRead(len(document.Entries))
			watch.held = found.held > 0
			log.Info("Feed read", "entries", len(document.Entries), "created", found.created, "held", found.held, "filtered", found.dropped)
		}
		watch.interval = polling.Declared(source.Interval(), found.declared)
		watch.validators = new(memory.Validators)
		watch.counters.Dropped(found.dropped)
		err = r.pollSucceeded(ctx, source, watch, token, found, now)
	}
	if err != nil {
		return scheduleRewrite(ctx, source, watch, now, err), nil
	}
	watch.failedWrites = 0
	return watch.due(source, r.Web.NetworkBack(source.Namespace, host), now), nil
}

// scheduleRewrite has a poll made again that could not be written down, and returns when.
func scheduleRewrite(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, now time.Time, err error) time.Time {
	watch.failedWrites++
	watch.redo = now.Add(redoAfter(source, err, watch.failedWrites-1))
	ctrl.LoggerFrom(ctx).Error(err, "Failed to update status with a poll", "redo", watch.redo)
	return watch.redo
}

// read fetches the feed and parses it, unless it is as it was: then there is no document. The document is counted
// in the room; the host is free for others as soon as it has answered.
func (r *Reconciler) read(ctx context.Context, source *v1alpha1.FeedSource, credentials secrets.Feed, memory *feedmemory.Memory,
	visit *web.Visit, room *budget.Room,
) (found pollResult, document *feed.Document, err error) {
	sent := credentials.Sent
	err = r.Outbound.Read(ctx, outbound.Request{
		URL:          source.Spec.URL,
		Accept:       feed.Accept,
		Header:       credentials.Header,
		ETag:         memory.Validators.ETag,
		LastModified: memory.Validators.LastModified,
		Known:        memory.Validators.BodyHash,
		Timeout:      source.FetchTimeout(),
		Room:         room,
		Weigh:        func(_ string, body []byte) int64 { return feed.Weigh(body) },
		Received:     visit.Host.Done,
	}, func(response *outbound.Response) error {
		sent = credentials.SentTo(response)
		memory.Sent = sent
		found, document, err = r.parse(source, memory, response)
		if err != nil || document == nil {
			return err
		}
		return hold(room, document)
	})
	if err != nil {
		return found, nil, failure.WithoutEchoes(err, sent)
	}
	return found, document, nil
}

// hold takes room for a document. There may be none at the moment (budget.ErrFull); what will never find any is a failure of
// the feed.
func hold(room *budget.Room, document *feed.Document) error {
	err := room.Grow(document.Weight())
	if errors.Is(err, budget.ErrTooLarge) {
		return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeTooLarge,
			"The feed needs more memory than the operator may use for one feed: it must list fewer entries, or shorter ones.", err)
	}
	return err
}

// parse reads the answer for a feed.
func (r *Reconciler) parse(source *v1alpha1.FeedSource, memory *feedmemory.Memory, response *outbound.Response) (pollResult, *feed.Document, error) {
	found := pollResult{movedTo: memory.Sent.Mask(response.MovedTo), rebuilt: -1, unchanged: response.Unchanged}
	if found.unchanged {
		found.declared = max(response.FreshFor, memory.Validators.TTL)
		return found, nil, nil
	}
	answer := feedmemory.Validators{
		URLHash:      feedmemory.URLHash(source.Spec.URL),
		ETag:         response.Header.Get("ETag"),
		LastModified: response.Header.Get("Last-Modified"),
		TTL:          memory.Validators.TTL,
		BodyHash:     response.Sum(),
	}
	document, err := feed.Parse(response.Body, response.Header.Get("Content-Type"), response.URL)
	if err != nil {
		return found, nil, err
	}
	document.ClampDates(r.Clock.Now())
	found.title, found.format, found.damage = memory.Sent.Bounded(document.Title, feed.MaxTitle), document.Format, memory.Sent.Mask(document.Warning())
	answer.TTL = time.Duration(document.TTL) * time.Minute
	found.declared = max(response.FreshFor, answer.TTL)
	memory.Answer = answer
	return found, document, nil
}

// lastRead is when the feed was read last; zero if that has failed since.
func lastRead(source *v1alpha1.FeedSource) time.Time {
	if source.Status.LastSuccessTime == nil || source.Status.ConsecutiveFailures > 0 {
		return time.Time{}
	}
	return source.Status.LastSuccessTime.Time
}

// createItems makes items of the entries that were never seen, the oldest first, and then remembers what
// was seen. A crash in between repeats work and loses nothing, because an item's name follows
// from its identity.
func (r *Reconciler) createItems(
	ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, memory *feedmemory.Memory, document *feed.Document, found *pollResult,
) error {
	if err := memory.Load(ctx, r.Live, source); err != nil {
		return err
	}
	entries := document.Entries
	book := memory.Book
	book.Observe(entries)
	found.identity = identityOf(book, len(entries))
	unremembered := len(book.Fresh())
	var items []v1alpha1.FeedItem
	var err error
	if unremembered > 0 || !memory.Complete { // else they tell nothing that is not remembered
		if items, err = itemcache.OfSource(ctx, r.Client, source); err != nil {
			return err
		}
	}
	rememberMasked(book, source, items, entries)
	for i := range items {
		if keys := feed.IdentifyItem(items[i].Spec.GUID, items[i].Spec.URL, itemcache.WholeTitle(&items[i])); !hidesSecret(&items[i]) && !book.Known(keys) {
			book.Remember(keys)
		}
	}
	fresh := book.Fresh()
	// A poll that was cut off may have made items that the memory does not know of.
	begun := unremembered - len(fresh)
	sifted, err := watch.filterNew(ctx, source, memory, fresh)
	if err != nil {
		return err
	}
	found.judged, found.dropped, found.filtersFailing = len(sifted.Kept)+len(sifted.Dropped) > 0, len(sifted.Dropped), memory.Sent.Mask(sifted.Message())
	now := r.Clock.Now()
	watch.today = itemsCreatedToday(source, memory, watch, begun, now)
	room, limit := roomFor(source, r.tally.ActiveAmong(source, items), watch.today, now)
	first := memory.First(source, begun, now)
	plan := planOf(memory, sifted.Kept, first, room)
	found.held, found.limit, found.rebuilt = plan.Held+len(plan.Create), limit, -1
	if memory.Lost {
		found.rebuilt = len(plan.Remember)
	}
	if len(plan.Create) > 0 {
		if err := r.nameFeed(ctx, source, found.title); err != nil {
			return err
		}
	}
	refused, err := r.makeItems(ctx, source, memory, &plan, found)
	watch.today = watch.today.Plus(found.created, now)
	if err != nil {
		return err
	}
	found.held, found.today = plan.Held, watch.today
	if watch.today.Created > 0 {
		memory.Data.ItemsToday = itemsToday(watch.today)
	}
	settle(&plan, sifted, first)
	memory.Remember(entries, plan)
	ctx, cancel := record.Context(ctx)
	defer cancel()
	now = r.Clock.Now()
	return errors.Join(refused, memory.Store(ctx, r.Client, source, plan.Held > 0, heartbeatDue(source, now), now))
}

// makeItems makes items of what is planned to become some. What the API server has no room for, and what a webhook or a policy refuses, is held in the
// feed, and refused says why; what else fails ends the poll.
func (r *Reconciler) makeItems(
	ctx context.Context, source *v1alpha1.FeedSource, memory *feedmemory.Memory, plan *polling.Plan, found *pollResult,
) (refused, failed error) {
	var taken []feed.Entry
	deniedInARow := 0
	for i := range plan.Create {
		item := derive.Item(source, plan.Create[i], memory.Book.Trust(), memory.Sent)
		making := r.Fresh.Expect(item, r.Clock.Now())
		r.tally.Expect(item, r.Clock.Now())
		// An entry that loses a part would be another one the next time.
		err := record.AsDropped(r.Client.Create(ctx, item, client.FieldValidation(metav1.FieldValidationStrict)))
		r.Recordable.Refused(crdcheck.KindItem, err)
		if err != nil {
			making.Ended(nil)
			r.tally.Doubt(item)
		}
		full, noSpace := false, RefusedForSpace(err) != ""
		if noSpace || refusedByPolicy(err) || apierrors.IsInvalid(err) {
			r.tally.NotMade(item)
		}
		switch {
		case refusedByPolicy(err): // which may be another one tomorrow: the entry waits in the feed, and stops no other
			refused, deniedInARow = fmt.Errorf("create a FeedItem: %w", err), deniedInARow+1
			if full = deniedInARow == mostDenied; !full {
				continue
			}
		case err == nil:
			found.created++
			r.Stream.ItemCreated(item, r.Clock.Now())
			making.Ended(item)
		case apierrors.IsAlreadyExists(err): // made by a poll that was cut off
		case apierrors.IsInvalid(err): // one entry must not stop the others
			why := failure.Mask(fmt.Sprintf("The entry %q cannot become a FeedItem: %v", item.Spec.Title, err))
			found.damage = strings.TrimSpace(found.damage + " " + why)
			ctrl.LoggerFrom(ctx).Error(err, "Entry refused by the API server", "item", item.Name)
		case noSpace: // what was created is remembered, the others wait
			refused, full = fmt.Errorf("create a FeedItem: %w", err), true
		default:
			return nil, fmt.Errorf("create a FeedItem: %w", err)
		}
		if full {
			break
		}
		taken, deniedInARow = append(taken, plan.Create[i]), 0
	}
	plan.HoldAllBut(taken)
	return refused, nil
}

// planOf decides which of the fresh entries that the filters keep become items.
func planOf(memory *feedmemory.Memory, fresh []feed.Entry, first polling.First, room int) polling.Plan {
	if memory.Lost {
		return polling.Plan{Remember: fresh}
	}
	return polling.PlanFresh(fresh, first, room)
}

// recall returns what decides about the request for the feed: the validators that this process knows, or else those in the API server.
func (r *Reconciler) recall(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState) (*feedmemory.Memory, error) {
	memory := &feedmemory.Memory{Complete: watch.complete}
	if watch.validators != nil {
		memory.Validators = *watch.validators
	} else if err := memory.Load(ctx, r.Live, source); err != nil {
		return nil, err
	}
	r.tally.Confirm(ctx, r.Client, r.Live, source, r.Clock.Now())
	// Entries that wait in the feed can become items now: it is read again, also if it has not changed. While there is no room, that would find the same.
	room := watch.held && r.mayCreate(source, watch)
	anotherFeed := memory.Validators.URLHash != feedmemory.URLHash(source.Spec.URL)
	neverReported := source.Status.Format == "" // the last answer was taken, and its status was not
	if anotherFeed || neverReported || room {
		memory.Validators = feedmemory.Validators{}
	}
	return memory, nil
}
