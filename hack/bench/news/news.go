// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package news makes what the operator reads and writes while it is measured: entries of the usual size, the feeds that
// list them, the sources that read those, and items as the operator leaves them.
//
// It knows what the operator's objects say. It knows neither an API server nor who serves a feed, and measures nothing.
package news

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// Sizes of what is read and written, in bytes: those of a usual news feed.
const (
	titleSize   = 80
	contentSize = 2 << 10
	summarySize = 300
)

// Articles is where the entries of all feeds lead to.
const Articles = "https://news.example.com/articles/2026/04/"

// FeedLength is how many entries a feed of the usual length lists.
const FeedLength = 20

// ServiceName names the one AIProvider and the one FeedDestination.
const ServiceName = "bench"

// Newest is when the newest entry of every feed was published; the others are an hour apart.
var Newest = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// Entries makes the entries of one feed, the newest first.
func Entries(name string, count int) []feed.Entry {
	entries := make([]feed.Entry, 0, count)
	for i := range count {
		id := fmt.Sprintf("%s-%06d", name, count-i)
		entries = append(entries, feed.Entry{
			GUID:      "https://news.example.com/" + id + "?guid",
			URL:       Articles + id,
			Title:     prose(id, titleSize),
			Content:   prose("Content of "+id, contentSize),
			Published: Newest.Add(-time.Duration(i) * time.Hour),
		})
	}
	return entries
}

// RSS is a feed that lists entries.
func RSS(entries []feed.Entry) []byte {
	listed := make([]feedtest.Entry, 0, len(entries))
	for _, entry := range entries {
		listed = append(listed, feedtest.Entry{
			GUID: entry.GUID, Link: entry.URL, Title: entry.Title, Content: entry.Content, Published: entry.Published,
		})
	}
	return feedtest.RSS(listed)
}

// prose is text of exactly so many bytes that reads like sentences and begins with the name.
func prose(name string, size int) string {
	words := strings.Fields("the committee agreed on Tuesday that work begins in May while members of both houses said " +
		"reports about costs follow every quarter and critics asked for a second document with numbers")
	var text strings.Builder
	text.WriteString(name)
	for i := 1; text.Len() < size; i++ {
		if i%14 == 0 {
			text.WriteString(". Then")
		}
		text.WriteString(" " + words[(i*i+7*i+len(name))%len(words)])
	}
	return text.String()[:size-1] + "."
}

// Source makes a FeedSource that reads a URL and works on all that the feed lists.
func Source(namespace, name, url string, change ...func(*v1alpha1.FeedSource)) *v1alpha1.FeedSource {
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	source.Spec.URL = url
	source.Spec.InitialItems = new(int32(1000))
	source.Spec.MaxActiveItems = new(int32(100_000))
	source.Spec.MaxItemsPerDay = new(int32(10_000))
	// The shortest interval that there is: polls are waited for.
	source.Spec.Interval = &metav1.Duration{Duration: time.Minute}
	for _, c := range change {
		c(source)
	}
	return source
}

// Item makes the item that the operator would make of an entry.
func Item(source *v1alpha1.FeedSource, entry feed.Entry) *v1alpha1.FeedItem {
	return derive.Item(source, entry, feed.Trust{}, nil)
}

// Posting names the destination, so that all summaries of the source are posted.
func Posting(source *v1alpha1.FeedSource) {
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: ServiceName}}
}

// Screened names the provider, which judges and summarizes all articles of the source.
func Screened(source *v1alpha1.FeedSource) {
	source.Spec.Providers = []v1alpha1.ProviderReference{{Name: ServiceName}}
	source.Spec.Screening = &v1alpha1.ScreeningPolicy{Criteria: "New rules, deadlines and money that concern citizens. No ceremonies, no lists of meetings."}
}

// Summary is a summary of the usual size.
func Summary(title string) *v1alpha1.Summary {
	return &v1alpha1.Summary{Text: prose("In short: "+title, summarySize), Provider: "instant", Model: "instant"}
}

// Settle makes an item processed, with all that its status says then.
func Settle(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) {
	Summarize(item, source)
	Publish(item, source)
}

// Summarize gives an item its summary, with the intents of its posts.
func Summarize(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) {
	outcome := lifecycle.Outcome{Summary: Summary(item.Spec.Title), Destinations: source.Spec.Destinations}
	for _, ref := range source.Spec.Destinations {
		outcome.Intents = append(outcome.Intents, lifecycle.Intent{
			Destination: ref.Name, TextHash: hashOf(item.Spec.Title), Timeout: v1alpha1.DefaultDestinationTimeout,
		})
	}
	lifecycle.Settle(item, outcome, backoff.Of(source), time.Now())
}

// Publish gives an item the results of its posts.
func Publish(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) {
	for _, ref := range source.Spec.Destinations {
		id := strconv.FormatInt(item.Spec.PublishedTime.UnixMilli()<<16, 10)
		lifecycle.SettleDelivery(item, lifecycle.DeliveryOutcome{
			Destination: ref.Name, NotAfter: lifecycle.RowOf(item, ref.Name).NotAfter,
			Posted: true, ID: id, URL: "https://mastodon.example/@feeds/" + id,
		}, lifecycle.DeliveryPolicy{}, time.Now())
	}
}

// hashOf is what a text is known by.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
