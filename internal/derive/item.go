// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package derive has what follows from the objects that a person has written: the FeedItem of an
// entry, where its article comes from, what the providers are asked about it, and what a post is made
// of.
//
// It is pure, so that the operator and a preview come to the same. It knows the kinds and what the
// work on an item is made of; it must never know whether anything of it is done.
package derive

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/itemcontent"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// Item makes the item of an entry, of a document whose server was sent something that is not to be shown. It does not
// block the deletion of its source.
func Item(source *v1alpha1.FeedSource, entry feed.Entry, trust feed.Trust, sent *redact.Sent) *v1alpha1.FeedItem {
	name := feed.ItemName(source.Name, string(source.UID), entry, trust)
	identity := posted.Of(FeedOf(source), feed.Identify(entry), trust).String()
	entry = WithoutEchoes(entry, sent)
	item := &v1alpha1.FeedItem{
		ObjectMeta: OwnedBy(source, name),
		Spec: v1alpha1.FeedItemSpec{
			SourceRef:  v1alpha1.SourceReference{Name: source.Name, UID: source.UID},
			GUID:       entry.GUID,
			URL:        entry.URL,
			Title:      entry.Title,
			Author:     entry.Author,
			Categories: entry.Categories,
		},
	}
	if !entry.Published.IsZero() {
		item.Spec.PublishedTime = &metav1.Time{Time: entry.Published}
	}
	if entry.Image.URL != "" {
		item.Spec.Image = &v1alpha1.EntryImage{URL: entry.Image.URL, Description: entry.Image.Description}
	}
	item.Spec.Identity = identity
	item.Spec.Content, item.Spec.CompressedContent = itemcontent.Pack(entry.Content)
	return item
}

// FeedOf names the feed that a source reads, for package posted: the URL, and the Secret with which it is read. One URL may give each of its
// readers another feed.
func FeedOf(source *v1alpha1.FeedSource) string {
	if source.Spec.SecretRef == nil {
		return source.Spec.URL
	}
	return source.Spec.URL + "#read with Secret " + source.Spec.SecretRef.Name
}

// OwnedBy is the metadata of an object that goes when its source goes.
func OwnedBy(source *v1alpha1.FeedSource, name string) metav1.ObjectMeta {
	const longestLabel = 63
	meta := metav1.ObjectMeta{
		Namespace: source.Namespace,
		Name:      name,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(),
			Kind:       "FeedSource",
			Name:       source.Name,
			UID:        source.UID,
			Controller: new(true),
		}},
	}
	if len(source.Name) <= longestLabel {
		meta.Labels = map[string]string{v1alpha1.LabelSource: source.Name}
	}
	return meta
}

// WithoutEchoes returns an entry in which what its server was sent is masked, as where a feed that asks for a token
// repeats it in its links. The entry is identified by what it was before.
func WithoutEchoes(entry feed.Entry, sent *redact.Sent) feed.Entry {
	if sent == nil {
		return entry
	}
	const longestGUID, longestURL, longestTitle, longestAuthor, longestCategory, longestAltText = 2048, 4096, 1024, 256, 128, 1500
	entry.GUID = sent.Bounded(entry.GUID, longestGUID)
	entry.URL = sent.Bounded(entry.URL, longestURL)
	entry.Title = sent.Bounded(entry.Title, longestTitle)
	entry.Author = sent.Bounded(entry.Author, longestAuthor)
	entry.Categories = slices.Clone(entry.Categories)
	for i, category := range entry.Categories {
		entry.Categories[i] = sent.Bounded(category, longestCategory)
	}
	entry.Image.URL = sent.Bounded(entry.Image.URL, longestURL)
	entry.Image.Description = sent.Bounded(entry.Image.Description, longestAltText)
	entry.Content = sent.Mask(entry.Content)
	return entry
}
