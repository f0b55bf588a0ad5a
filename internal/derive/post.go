// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
)

// Material is what the post of an item that has a summary is made of.
func Material(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) destination.Material {
	material := destination.Material{
		Title:      item.Spec.Title,
		Summary:    item.Status.Summary.Text,
		URL:        item.Spec.URL,
		Author:     item.Spec.Author,
		GUID:       item.Spec.GUID,
		Namespace:  item.Namespace,
		Source:     source.Name,
		Item:       item.Name,
		Provider:   item.Status.Summary.Provider,
		Model:      item.Status.Summary.Model,
		FeedTitle:  source.Status.Title,
		Categories: item.Spec.Categories,
		Published:  item.Published().Time,
	}
	if source.Spec.Summary != nil {
		material.Language = source.Spec.Summary.Language
	}
	return material
}

// NamesFeed reports whether what a destination is sent may say what the feed calls itself.
func NamesFeed(described *v1alpha1.FeedDestination) bool {
	return described.Spec.Webhook != nil || Style(described).NamesFeed()
}

// Style is how the posts of a destination look.
func Style(described *v1alpha1.FeedDestination) destination.Style {
	style := destination.Style{Template: described.Spec.Template}
	if mastodon := described.Spec.Mastodon; mastodon != nil {
		style.ContentWarning = mastodon.ContentWarning
		style.Language = mastodon.Language
		style.Visibility = string(mastodon.Visibility)
		if tags := mastodon.Hashtags; tags != nil {
			style.Hashtags = destination.Hashtags{FromCategories: tags.FromCategories, Always: tags.Always, Max: tags.MaxHashtags()}
		}
	}
	return style
}
