// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

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
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// Sizes of what is read and written, in bytes: those of a usual news feed.
const (
	titleSize   = 80
	contentSize = 2 << 10
	summarySize = 300
)

// articles is where the entries of all feeds lead to.
const articles = "https://news.example.com/articles/2026/04/"

// newestEntry is when the newest entry of every feed was published; the others are an hour apart.
var newestEntry = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// entriesOf makes the entries of one feed, the newest first.
func entriesOf(name string, count int) []feed.Entry {
	entries := make([]feed.Entry, 0, count)
	for i := range count {
		id := fmt.Sprintf("%s-%06d", name, count-i)
		entries = append(entries, feed.Entry{
			GUID:      "https://news.example.com/" + id + "?guid",
			URL:       articles + id,
			Title:     prose(id, titleSize),
			Content:   prose("Content of "+id, contentSize),
			Published: newestEntry.Add(-time.Duration(i) * time.Hour),
		})
	}
	return entries
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

// newSource makes a FeedSource that reads a URL and works on all that the feed lists.
func newSource(namespace, name, url string, change ...func(*v1alpha1.FeedSource)) *v1alpha1.FeedSource {
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

// newItem makes the item that the operator would make of an entry.
func newItem(source *v1alpha1.FeedSource, entry feed.Entry) *v1alpha1.FeedItem {
	return derive.Item(source, entry, feed.Trust{}, nil)
}

// posting names the destination, so that all summaries of the source are posted.
func posting(source *v1alpha1.FeedSource) {
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: serviceName}}
}

// screened names the provider, which judges and summarizes all articles of the source.
func screened(source *v1alpha1.FeedSource) {
	source.Spec.Providers = []v1alpha1.ProviderReference{{Name: serviceName}}
	source.Spec.Screening = &v1alpha1.ScreeningPolicy{Criteria: "New rules, deadlines and money that concern citizens. No ceremonies, no lists of meetings."}
}

// summaryOf is a summary of the usual size.
func summaryOf(title string) *v1alpha1.Summary {
	return &v1alpha1.Summary{Text: prose("In short: "+title, summarySize), Provider: "instant", Model: "instant"}
}

// settle makes an item processed, with all that its status says then.
func settle(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) {
	summarize(item, source)
	publish(item, source)
}

// summarize gives an item its summary, with the intents of its posts.
func summarize(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) {
	outcome := lifecycle.Outcome{Summary: summaryOf(item.Spec.Title), Destinations: source.Spec.Destinations}
	for _, ref := range source.Spec.Destinations {
		outcome.Intents = append(outcome.Intents, lifecycle.Intent{
			Destination: ref.Name, TextHash: hashOf(item.Spec.Title), Timeout: v1alpha1.DefaultDestinationTimeout,
		})
	}
	lifecycle.Settle(item, outcome, backoff.Of(source), time.Now())
}

// publish gives an item the results of its posts.
func publish(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) {
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
