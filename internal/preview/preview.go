// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview goes the way of an entry from the feed to the post without an operator: it shows what
// would be created, screened, summarized and posted, and writes and posts nothing.
//
// It asks the same packages as the operator does. It knows no API server but as something that Secrets
// and descriptions can be read from.
package preview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/filter"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/seen"
)

// Previewer works on the entries of a feed. It is for one person: not safe for concurrent use.
type Previewer struct {
	// Objects has what the source refers to.
	Objects *Objects
	// Outbound is the way out.
	Outbound *outbound.Client
	// Providers and Destinations make what calls the services that are described.
	Providers    func(described *v1alpha1.AIProvider, credentials secrets.Values) (provider.Provider, error)
	Destinations func(described *v1alpha1.FeedDestination, credentials secrets.Values) (destination.Destination, error)
	// Builtin summarizes where the source names no provider.
	Builtin provider.Provider
	Now     func() time.Time
	// Sleep waits, or returns the error of the context.
	Sleep func(ctx context.Context, wait time.Duration) error
	// Entries is how many of the newest entries are worked on; 0 is for those that would become items.
	Entries int

	// A name means something else in each namespace.
	providers    map[client.ObjectKey]*caller
	destinations map[client.ObjectKey]*publisher
}

// Feed is what was read, and what would become of it if the source were new.
type Feed struct {
	Document *feed.Document
	// MovedTo is where the server says that the feed is now, for good.
	MovedTo string
	// Entries that would become items, in the order in which they would; or as many of the newest as a
	// person wants to see.
	Entries []Entry
	// Created is how many would become items, and Remembered how many would only be remembered as seen.
	Created, Remembered int
	// Dropped are the entries that the filters of the source drop.
	Dropped []filter.Dropped
	// FiltersFailing is which filters could not be evaluated; empty: all could.
	FiltersFailing string
}

// Entry is an entry and the item that would be made of it.
type Entry struct {
	feed.Entry
	Item *v1alpha1.FeedItem
	// KnownBy is what the entry would be known by.
	KnownBy string
}

// UnreadableError means that a feed cannot be read, in the words of the source's condition.
type UnreadableError struct{ Reason, Message string }

func (e *UnreadableError) Error() string { return e.Reason + ": " + e.Message }

// Read fetches the feed of a source, and decides about its entries as the first poll would. Where the feed
// cannot be read, the error is an *UnreadableError.
func (p *Previewer) Read(ctx context.Context, source *v1alpha1.FeedSource) (*Feed, error) {
	if secrets.SentInClear(source) {
		return nil, &UnreadableError{Reason: v1alpha1.ReasonInsecureCredentials, Message: derive.InsecureCredentials}
	}
	credentials, err := secrets.OfFeed(ctx, p.Objects, source)
	if unusable, ok := errors.AsType[*secrets.Unusable](err); ok {
		return nil, &UnreadableError{Reason: string(v1alpha1.ReasonWaiting), Message: unusable.Error()}
	}
	if err != nil {
		return nil, err
	}
	filters, err := filter.Compile(source.Spec.Filters)
	if err != nil {
		return nil, err
	}
	response, err := p.Outbound.Get(ctx, outbound.Request{URL: source.Spec.URL, Accept: feed.Accept, Header: credentials.Header, Timeout: source.FetchTimeout()})
	if err != nil {
		return nil, p.unreadable(ctx, source, failure.WithoutEchoes(err, credentials.Sent))
	}
	sent := credentials.SentTo(response)
	document, err := feed.Parse(response.Body, response.Header.Get("Content-Type"), response.URL)
	if err != nil {
		return nil, p.unreadable(ctx, source, failure.WithoutEchoes(err, sent))
	}
	document.ClampDates(p.Now())
	document.Title, document.Damage = sent.Bounded(document.Title, feed.MaxTitle), sent.Mask(document.Damage)
	source.Status.Title, source.Status.Format = document.Title, document.Format // as posts may name it
	return p.plan(ctx, source, &Feed{Document: document, MovedTo: sent.Mask(response.MovedTo)}, filters, sent)
}

func (p *Previewer) unreadable(ctx context.Context, source *v1alpha1.FeedSource, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := failure.Record(err, v1alpha1.StagePoll, outbound.HostOf(source.Spec.URL), p.Now()).Message
	return &UnreadableError{Reason: derive.PollReason(failure.Classify(err)), Message: strings.TrimRight(said, ".")}
}

// plan decides what becomes of the entries of a document.
func (p *Previewer) plan(ctx context.Context, source *v1alpha1.FeedSource, read *Feed, filters *filter.Set, sent *redact.Sent) (*Feed, error) {
	book, err := seen.Load(v1alpha1.FeedMemoryData{})
	if err != nil {
		return nil, err
	}
	book.Observe(read.Document.Entries)
	limited, cancel := context.WithTimeout(ctx, filter.MaxTime)
	defer cancel()
	sifted := filters.Sift(limited, book.Fresh())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i, dropped := range sifted.Dropped {
		sifted.Dropped[i].Entry, sifted.Dropped[i].Why = derive.WithoutEchoes(dropped.Entry, sent), sent.Mask(dropped.Why)
	}
	read.Dropped, read.FiltersFailing = sifted.Dropped, sent.Mask(sifted.Message())
	plan := polling.PlanFresh(sifted.Kept, polling.First{Poll: true, Items: source.InitialItems()},
		min(source.MaxActiveItems(), source.MaxItemsPerDay()))
	read.Created, read.Remembered = len(plan.Create), len(plan.Remember)
	if p.Entries > 0 {
		plan = polling.PlanFresh(sifted.Kept, polling.First{Poll: true, Items: p.Entries}, p.Entries)
	}
	for _, entry := range plan.Create {
		item := derive.Item(source, entry, book.Trust(), sent)
		item.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "FeedItem"}
		shown := derive.WithoutEchoes(entry, sent)
		read.Entries = append(read.Entries, Entry{Entry: shown, Item: item, KnownBy: knownBy(shown, feed.Identify(entry), book.Trust())})
	}
	return read, nil
}

// knownBy returns what an entry is known by.
func knownBy(shown feed.Entry, keys feed.Keys, trust feed.Trust) string {
	trusted := keys.Trusted(trust)
	var by, shared []string
	if !trusted.GUID.IsZero() {
		by = append(by, "its GUID "+shown.GUID)
	} else if !keys.GUID.IsZero() {
		shared = append(shared, "GUID")
	}
	if !trusted.URL.IsZero() {
		by = append(by, "its URL")
	} else if !keys.URL.IsZero() {
		shared = append(shared, "URL")
	}
	switch {
	case !trusted.Title.IsZero():
		by = append(by, "its title")
	case !trusted.Content.IsZero():
		by = append(by, "its title and content")
	}
	known := strings.Join(by, ", and by ")
	if len(shared) > 0 {
		known += " (other entries of this feed have the same " + strings.Join(shared, " and ") + ", which therefore does not count)"
	}
	return known
}

// Outcome is what an attempt at an item would come to.
type Outcome struct {
	// Article that was read; nil where none could be.
	Article *article.Article
	// Reason and Problem say why the item would not go on now; empty where it would.
	Reason  v1alpha1.Reason
	Problem string
	// Screening is the verdict; nil where none was asked for.
	Screening *v1alpha1.Screening
	// Summary that was written; nil where none was.
	Summary *v1alpha1.Summary
	// Failed is which providers have failed before another one did the work.
	Failed []string
	// Posts of the summary.
	Posts []Post
}

// Work makes the attempt at an item that the operator would make first. Nothing is posted. An error is
// that of the context alone, or of the cluster that is asked.
func (p *Previewer) Work(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem) (*Outcome, error) {
	item = item.DeepCopy()
	item.CreationTimestamp = metav1.Time{Time: p.Now()}
	outcome := &Outcome{}
	from, err := derive.ArticleRequest(item, source)
	if err != nil {
		outcome.Reason, outcome.Problem = v1alpha1.ReasonInvalidContent, failure.Classify(err).Error()
		return outcome, nil
	}
	if from.Documents, err = p.readsDocuments(ctx, source, derive.ToBeScreened(item, source)); err != nil {
		return nil, err
	}
	text, err := article.NewFetcher(p.Outbound).Fetch(ctx, from)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		cause := failure.Classify(err)
		outcome.Reason, outcome.Problem = derive.ArticleReason(cause), cause.Error()
		return outcome, nil
	}
	outcome.Article = &text
	if err := p.summarize(ctx, source, item, from, outcome); err != nil {
		return nil, err
	}
	if outcome.Summary == nil {
		return outcome, nil
	}
	item.Status.Summary, item.Status.PageImage = outcome.Summary, text.Image
	for _, ref := range source.Spec.Destinations {
		post, err := p.compose(ctx, source, item, client.ObjectKey{Namespace: source.Namespace, Name: ref.Name})
		if err != nil {
			return nil, err
		}
		outcome.Posts = append(outcome.Posts, post)
	}
	return outcome, nil
}

func titleOf(entry feed.Entry) string {
	for _, text := range []string{entry.Title, entry.URL, entry.GUID} {
		if text != "" {
			return text
		}
	}
	return "an entry without a title"
}

// missing reports that an object is not where a preview looks for it.
func (p *Previewer) missing(kind, name string) string {
	if p.Objects.Cluster != nil {
		return fmt.Sprintf("the %s %s is neither in the files nor in the cluster", kind, name)
	}
	return fmt.Sprintf("the %s %s is not in the files (--from-cluster reads it from the cluster)", kind, name)
}
