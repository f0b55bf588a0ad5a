// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// openAttempt is what an attempt has come to that waits, without keeping a worker: for the moment
// before a call is made again (R3.3), or for a provider that is busy (R3.6). It is in memory only:
// what an operator that ends has not written down, the next one begins anew.
type openAttempt struct {
	provider.Attempt
	// token is the item's retry token when the attempt began.
	token string
	// began is the item as it was when the attempt began, as far as lifecycle.SameAttempt asks.
	began *v1alpha1.FeedItem
	// since is when its work began; zero before that. Then its trace began, too.
	since time.Time
	span  tracing.Span
	// kept is set if it was put away, and goes on later.
	kept bool
	// notBefore is when the attempt goes on.
	notBefore time.Time
	// askAgain names the providers whose calls have failed for nothing that the item could help.
	askAgain map[string]bool
	// page is what became of the page; its text is kept as long as there is room.
	page openPage
	// room is that of the text while the attempt waits.
	room *budget.Room
	// full is since when there is no room for the page.
	full budget.MemoryBackoff
}

// openPage is the article of an open attempt.
type openPage struct {
	text article.Article
	read time.Time // zero while there is no text
	// calls that have failed, and how long they were waited for.
	calls  int
	waited time.Duration
}

// size is how much room the article takes, in bytes.
func (p openPage) size() int64 { return int64(len(p.text.Text) + len(p.text.Document)) }

// keepText is how long a text that was read is as good as one that is read now.
const keepText = time.Hour

// OpenAttempts keeps the attempts that wait. The zero value is empty, and without a bound on their texts.
type OpenAttempts struct {
	// Budget has room for articles and documents that wait. Who finds none reads the page again.
	Budget *budget.Budget

	mu    sync.Mutex
	known map[types.NamespacedName]*openAttempt
}

// of returns the attempt that is open on an item, or a new one: where there is none, and where the
// item has moved on since. A text that was read for it stays good. Nobody else works on the item
// meanwhile.
func (o *OpenAttempts) of(item *v1alpha1.FeedItem, now time.Time) *openAttempt {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := client.ObjectKeyFromObject(item)
	open := o.known[name]
	fresh := newAttempt(item)
	switch {
	case open == nil:
		return fresh
	case open.token != fresh.token: // somebody wants it to be tried anew
	case lifecycle.SameAttempt(open.began, item):
		fresh = open
	case open.began.UID == item.UID && item.Status.Phase == v1alpha1.PhasePending: // it was judged, and is to be summarized
		fresh.page = openPage{text: open.page.text, read: open.page.read}
	}
	o.remove(name)
	if fresh != open {
		open.span.End()
	}
	if now.Sub(fresh.page.read) > keepText {
		fresh.page.text, fresh.page.read = article.Article{}, time.Time{}
	}
	return fresh
}

func newAttempt(item *v1alpha1.FeedItem) *openAttempt {
	return &openAttempt{began: attemptState(item), token: lifecycle.Token(item), askAgain: map[string]bool{}}
}

// Begun reports whether a call was made in an attempt that waits.
func (o *OpenAttempts) Begun(item *v1alpha1.FeedItem) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	open := o.known[client.ObjectKeyFromObject(item)]
	return open != nil && open.Begun()
}

// FailedAt names the items with an attempt that has failed at a provider, and waits.
func (o *OpenAttempts) FailedAt(provider types.NamespacedName) (items []types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, open := range o.known {
		if name.Namespace == provider.Namespace && open.HasFailed(provider.Name) {
			items = append(items, name)
		}
	}
	return items
}

// keep puts an attempt away until it goes on.
func (o *OpenAttempts) keep(item *v1alpha1.FeedItem, open *openAttempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := client.ObjectKeyFromObject(item)
	o.remove(name)
	open.kept = true
	if o.Budget != nil {
		open.room = o.Budget.Waiting(name.Namespace)
		if open.room.Grow(open.page.size()) != nil {
			open.page.text, open.page.read = article.Article{}, time.Time{}
		}
	}
	if o.known == nil {
		o.known = map[types.NamespacedName]*openAttempt{}
	}
	o.known[name] = open
}

// Drop forgets what is open on an item.
func (o *OpenAttempts) Drop(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if open := o.known[name]; open != nil {
		open.span.End()
	}
	o.remove(name)
}

// End forgets all attempts that wait, because the operator ends: their traces end, and the room of their texts is for others in this process.
func (o *OpenAttempts) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, open := range o.known {
		open.span.End()
		o.remove(name)
	}
}

func (o *OpenAttempts) remove(name types.NamespacedName) {
	if open := o.known[name]; open != nil {
		open.room.Release()
		delete(o.known, name)
	}
}

// attemptState is what lifecycle.SameAttempt compares of an item whose summary is missing.
func attemptState(item *v1alpha1.FeedItem) *v1alpha1.FeedItem {
	stand := &v1alpha1.FeedItem{}
	stand.UID = item.UID
	stand.Status.Phase, stand.Status.RetryCount = item.Status.Phase, item.Status.RetryCount
	stand.Status.LastCheckTime = item.Status.LastCheckTime.DeepCopy()
	return stand
}

// begin notes when the work of an attempt began, and with that its trace. It returns a context that belongs to the trace.
func (o *openAttempt) begin(ctx context.Context, traces *tracing.Tracer, item *v1alpha1.FeedItem, now time.Time) context.Context {
	if o.since.IsZero() {
		o.since = now
		_, o.span = traces.Attempt(ctx, item)
	}
	return o.span.In(ctx)
}

// endUnlessKept ends the trace of an attempt that has not been put away since kept was unset.
func (o *openAttempt) endUnlessKept() {
	if !o.kept {
		o.span.End()
	}
}

// fails marks the trace of an attempt that has come to a failure.
func (o *openAttempt) fails(outcome lifecycle.Outcome) {
	if outcome.Failure != nil {
		o.span.FailAs(outcome.Failure.Category)
	}
}

// told is what the stream is told of the attempt.
func (o *openAttempt) told() telemetry.Attempt {
	return telemetry.Attempt{Began: o.since, Trace: o.span.ID()}
}

// pageFailed notes that the page could not be read, and reports whether that is tried again in a
// moment.
func (o *openAttempt) pageFailed(err error, policy backoff.InPlace, item *v1alpha1.FeedItem, now time.Time) bool {
	o.page.calls++
	wait, again := policy.Wait(v1alpha1.StageArticle, failure.Classify(err), o.page.calls, o.page.waited, string(item.UID))
	if again {
		o.page.waited += wait
		o.notBefore = now.Add(wait)
	}
	return again
}
