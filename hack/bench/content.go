// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// Sizes of what is read and written, in bytes: those of a usual news feed.
const (
	titleSize   = 80
	contentSize = 2 << 10
	summarySize = 300
)

// newestEntry is when the newest entry of every feed was published; the others are an hour apart.
var newestEntry = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// entriesOf makes the entries of one feed, the newest first.
func entriesOf(name string, count int) []feed.Entry {
	entries := make([]feed.Entry, 0, count)
	for i := range count {
		id := fmt.Sprintf("%s-%06d", name, count-i)
		entries = append(entries, feed.Entry{
			GUID:      "https://news.example.com/" + id + "?guid",
			URL:       "https://news.example.com/articles/2026/04/" + id,
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
func newSource(namespace, name, url string) *v1alpha1.FeedSource {
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	source.Spec.URL = url
	source.Spec.InitialItems = new(int32(1000))
	source.Spec.MaxActiveItems = new(int32(100_000))
	// The shortest interval that there is: polls are waited for.
	source.Spec.Interval = &metav1.Duration{Duration: time.Minute}
	return source
}

// newItem makes the item that the operator would make of an entry.
func newItem(source *v1alpha1.FeedSource, entry feed.Entry) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: source.Namespace,
			Name:      feed.ItemName(source.Name, string(source.UID), entry, feed.Trust{}),
			Labels:    map[string]string{v1alpha1.LabelSource: source.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "FeedSource",
				Name: source.Name, UID: source.UID, Controller: new(true),
			}},
		},
		Spec: v1alpha1.FeedItemSpec{
			SourceRef:     v1alpha1.SourceReference{Name: source.Name, UID: source.UID},
			GUID:          entry.GUID,
			URL:           entry.URL,
			Title:         entry.Title,
			PublishedTime: &metav1.Time{Time: entry.Published},
		},
	}
	item.Spec.Content, item.Spec.CompressedContent = feed.Pack(entry.Content)
	return item
}

// summaryOf is a summary of the usual size.
func summaryOf(title string) *v1alpha1.Summary {
	return &v1alpha1.Summary{Text: prose("In short: "+title, summarySize), Provider: "instant", Model: "instant"}
}

// settle makes an item processed, with all that its status says then.
func settle(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) {
	lifecycle.Settle(item, lifecycle.Outcome{Summary: summaryOf(item.Spec.Title)}, lifecycle.PolicyOf(source), time.Now())
}

// summarizedStatus and processedStatus are merge patches of an item's status: that it has a
// summary and waits, and that it is done.
func summarizedStatus(item *v1alpha1.FeedItem) ([]byte, error) {
	return json.Marshal(map[string]any{"status": v1alpha1.FeedItemStatus{
		Phase: v1alpha1.PhasePending, LastCheckTime: new(metav1.Now()), Summary: summaryOf(item.Spec.Title),
	}})
}

func processedStatus(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) ([]byte, error) {
	done := item.DeepCopy()
	settle(done, source)
	return json.Marshal(map[string]any{"status": done.Status})
}
