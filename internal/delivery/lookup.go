// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// lookBack is how long before the first attempt a post is looked for: when that was is noted by a clock that may have been ahead by
// a day and set right since, and what is known of the other side's is not exact. What else the account has posted in a day is
// read with few requests (300 posts in three hours are 60 pages, and Mastodon takes no more).
const lookBack = 24*time.Hour + 10*time.Minute

// lookFor is how long a look may take in all, which is hundreds of requests: the time of one of them, cut off at which it began anew, time and
// again, is too short for many. It is as much as one may have that is posted with.
const lookFor = 5 * time.Minute

// find finds out what has become of a post that may have been published already: an attempt was cut
// off, or its answer was lost. It returns what is decided by that; nil when it may be posted
// without, because its key protects it or a person has decided.
func (e *Engine) find(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
	p *post, row *v1alpha1.Delivery,
) *lifecycle.DeliveryOutcome {
	finder, can := p.Publisher.Destination.(destination.Finder)
	if !can || !p.Publisher.Server.CanRead {
		return e.unverifiable(p, item, row)
	}
	publication, err := p.compose(e.Names, item, source)
	if err != nil { // what was posted may still be told by its link and its hash
		publication = destination.Post{Link: item.Spec.URL}
	}
	others := &otherPosts{engine: e, ctx: ctx, item: item, destination: p.Destination}
	began := e.Clock.Now()
	looking, cancel := context.WithTimeout(ctx, max(lookFor, p.Timeout))
	defer cancel()
	looking, span := tracing.LookUp(looking, p.Destination)
	receipt, found, err := others.find(looking, finder, destination.Query{
		Since: lifecycle.AttemptedSince(item, row, began).Add(-lookBack), Post: publication, TextHash: row.TextHash,
		Timeout: p.Timeout,
	})
	span.Fail(err)
	span.Found(found)
	span.End()
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Post looked up", "destination", p.Destination, "found", found, "url", receipt.URL)
	}
	var failed *failure.Error
	switch {
	case err == nil && found:
		return &lifecycle.DeliveryOutcome{Posted: true, ID: conditions.Cut(receipt.ID, 128), URL: conditions.Cut(receipt.URL, 2048)}
	case err == nil:
		return &lifecycle.DeliveryOutcome{Missing: true, Mistaken: others.passedOver}
	case errors.Is(err, destination.ErrTooMany), errors.As(err, &failed) && failed.Status == http.StatusForbidden && failed.Category == v1alpha1.CategoryAuth:
		return e.unverifiable(p, item, row)
	}
	if ctx.Err() != nil { // the manager is stopping: nothing can be said
		return nil
	}
	e.Services.CallEnded(p.Ticket, p.Revision, v1alpha1.StageDeliver, 0, posting.AsFailure(err))
	outcome := p.failed(err, e.Clock.Now())
	outcome.Looking, outcome.Began = true, began
	return &outcome
}

// unverifiable is for a post that may have been published, at a destination that cannot be asked.
func (e *Engine) unverifiable(p *post, item *v1alpha1.FeedItem, row *v1alpha1.Delivery) *lifecycle.DeliveryOutcome {
	now := e.Clock.Now()
	switch {
	case !p.repeats() && !lifecycle.MayRepeat(row, p.Publisher.Server.HonoursKeys, now, e.Observed.Since(item, row, e.Clock)):
		return &lifecycle.DeliveryOutcome{Unverifiable: true}
	case lifecycle.Postpones(row, item, p.Policy, now):
		return &lifecycle.DeliveryOutcome{Protected: true}
	}
	return nil
}

// otherPosts knows which posts at a destination are another item's.
type otherPosts struct {
	engine      *Engine
	ctx         context.Context //nolint:containedctx // it lives as long as one call of Find
	item        *v1alpha1.FeedItem
	destination string

	known map[string]bool
	err   error
	// places are those of the destinations that were looked at.
	places map[client.ObjectKey]string
	// passedOver is set if a post which looked like the item's was recorded on another.
	passedOver bool
}

// find looks for the item's post among those that are no other item's.
func (o *otherPosts) find(ctx context.Context, finder destination.Finder, query destination.Query) (destination.Receipt, bool, error) {
	query.Taken = o.has
	for {
		receipt, found, err := findSafely(ctx, finder, query)
		switch {
		case err != nil:
			return receipt, false, err
		case o.err != nil:
			return receipt, false, o.err
		case !found:
			return receipt, false, nil
		}
		names := o.namesOf(receipt.ID, receipt.URL, o.item.Namespace, o.destination)
		if o.engine.found.claim(apiclock.PassedBy(o.engine.Clock), names, string(o.item.UID)+"/"+o.destination) {
			return receipt, true, nil
		}
		for _, name := range names { // another item is recording it at this moment
			o.add(name)
		}
	}
}

// findSafely turns a panic of a library into a failure of the look.
func findSafely(ctx context.Context, finder destination.Finder, query destination.Query) (receipt destination.Receipt, found bool, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = failure.Panicked(value, debug.Stack())
		}
	}()
	return finder.Find(ctx, query)
}

func (o *otherPosts) add(name string) {
	if o.known == nil {
		o.known = map[string]bool{}
	}
	o.known[name] = true
}

// has reports whether a post is recorded on another item.
func (o *otherPosts) has(receipt destination.Receipt) bool {
	if o.known == nil && o.err == nil {
		o.known, o.err = o.postsOfOthers(o.ctx, o.item, o.destination)
	}
	if o.err != nil {
		return true // nothing can be said
	}
	for _, name := range o.namesOf(receipt.ID, receipt.URL, o.item.Namespace, o.destination) {
		if o.known[name] {
			o.passedOver = true
			return true
		}
	}
	return false
}

// postsOfOthers lists what is recorded as posted by any other delivery: two sources, even of two
// namespaces, and two destinations, may post to the same account. It does so live: what an operator that was deposed, and does not know
// it yet, has recorded a moment ago is in no cache, and with it missing its post would be taken for this item's, which then got none. This
// is one request for 200 items of the namespaces that post to the same account, for each look that finds what may be the post; there is
// one where an answer was lost.
func (o *otherPosts) postsOfOthers(ctx context.Context, item *v1alpha1.FeedItem, destination string) (map[string]bool, error) {
	posted := map[string]bool{}
	namespaces, err := o.sharing(ctx, client.ObjectKey{Namespace: item.Namespace, Name: destination})
	if err != nil {
		return nil, err
	}
	for _, namespace := range namespaces {
		list := &v1alpha1.FeedItemList{}
		for {
			if err := o.engine.lists.next(ctx, o.engine.Live, list, item.Namespace, namespace); err != nil {
				return nil, err
			}
			for i := range list.Items {
				other := &list.Items[i]
				for j := range other.Status.Deliveries {
					row := &other.Status.Deliveries[j]
					if other.UID == item.UID && row.Destination == destination {
						continue
					}
					for _, name := range o.namesOf(row.ID, row.URL, other.Namespace, row.Destination) {
						posted[name] = true
					}
				}
			}
			if list.Continue == "" {
				break
			}
		}
	}
	return posted, nil
}

// itemLists bounds how many pages of all items are read at once, for all looks of the process: an item may have 50 KB, and as many looks are made as there
// are places. Those of one namespace read one page at a time, so that who has many looks, of many items, is in the way of others with one page.
// The zero value is ready.
type itemLists struct {
	once  sync.Once
	slots chan struct{}

	mu     sync.Mutex
	owners map[string]*listOwner
}

// listOwner is a namespace whose looks read pages, and how many of them do or wait.
type listOwner struct {
	slot  chan struct{}
	looks int
}

// next reads the next page of a list, for a look of a namespace.
func (l *itemLists) next(ctx context.Context, live client.Reader, list *v1alpha1.FeedItemList, owner, namespace string) error {
	const page, atOnce = 200, 2
	l.once.Do(func() { l.slots = make(chan struct{}, atOnce) })
	own, leave := l.enter(owner)
	defer leave()
	for _, slots := range []chan struct{}{own, l.slots} {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return live.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(list.Continue))
}

// enter returns the slot of a namespace, and what is called when it is not needed any more.
func (l *itemLists) enter(owner string) (slot chan struct{}, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.owners[owner]
	if of == nil {
		if l.owners == nil {
			l.owners = map[string]*listOwner{}
		}
		of = &listOwner{slot: make(chan struct{}, 1)}
		l.owners[owner] = of
	}
	of.looks++
	return of.slot, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if of.looks--; of.looks == 0 {
			delete(l.owners, owner)
		}
	}
}

// namesOf are the names of a post: its URL, and its ID at its destination. Each holds for the namespace, whose own posts they are, and for the
// place that is posted to. What a server says of its posts says nothing of another's: else its owner could take any post of
// anybody for one of theirs.
func (o *otherPosts) namesOf(id, url, namespace, destination string) []string {
	place := o.placeOf(client.ObjectKey{Namespace: namespace, Name: destination})
	var names []string
	if url != "" {
		names = append(names, namespace+" "+url, place+" "+url)
	}
	if id != "" {
		names = append(names, namespace+"/"+destination+"#"+id, place+"#"+id)
	}
	return names
}

// sharing are the namespaces that post to the same place as a destination, its own among them.
func (o *otherPosts) sharing(ctx context.Context, destination client.ObjectKey) ([]string, error) {
	var all v1alpha1.FeedDestinationList
	if err := o.engine.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	namespaces, place := []string{destination.Namespace}, o.placeOf(destination)
	for i := range all.Items {
		other := client.ObjectKeyFromObject(&all.Items[i])
		if !slices.Contains(namespaces, other.Namespace) && o.placeOf(other) == place {
			namespaces = append(namespaces, other.Namespace)
		}
	}
	return namespaces, nil
}

// placeOf names the server and the account that a destination posts to; where it is not known, or not answering for them, the destination.
// It stays the same during a look.
func (o *otherPosts) placeOf(key client.ObjectKey) string {
	if place, known := o.places[key]; known {
		return place
	}
	if o.places == nil {
		o.places = map[client.ObjectKey]string{}
	}
	o.places[key] = key.String()
	var described v1alpha1.FeedDestination
	err := o.engine.Client.Get(o.ctx, key, &described)
	if err == nil && described.Status.ObservedGeneration == described.Generation &&
		meta.IsStatusConditionTrue(described.Status.Conditions, v1alpha1.ConditionReady) {
		if where, can := posting.TargetOf(&described, nil); can && where.Account != "" {
			o.places[key] = where.Server + " " + where.Account
		}
	}
	return o.places[key]
}

// foundTTL is how long a post that was found is nobody else's: by then it is recorded, or looked for again by the same delivery.
const foundTTL = 24 * time.Hour

// foundPosts keeps two deliveries that look at the same time from finding the same post.
type foundPosts struct {
	mu sync.Mutex
	// by has the names of posts, hashed: a server may make them long.
	by map[[sha256.Size]byte]foundBy
	// swept is when the old ones were left out last.
	swept time.Duration
}

// foundBy is the delivery that a post was found for, and what had passed by then.
type foundBy struct {
	delivery string
	at       time.Duration
}

// claim reports whether a post that was found, which has these names, may be recorded for a delivery. Passed is what time has passed since some
// moment.
func (f *foundPosts) claim(passed time.Duration, names []string, delivery string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if passed-f.swept >= foundTTL {
		maps.DeleteFunc(f.by, func(_ [sha256.Size]byte, by foundBy) bool { return passed-by.at >= foundTTL })
		f.swept = passed
	}
	for _, name := range names {
		if owner, claimed := f.by[sha256.Sum256([]byte(name))]; claimed && owner.delivery != delivery {
			return false
		}
	}
	if f.by == nil {
		f.by = map[[sha256.Size]byte]foundBy{}
	}
	for _, name := range names {
		f.by[sha256.Sum256([]byte(name))] = foundBy{delivery, passed}
	}
	return true
}
