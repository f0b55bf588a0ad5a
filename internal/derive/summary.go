// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// BuiltinProvider is the name on a summary of the summarizer that needs no AIProvider.
const BuiltinProvider = "extractive (built in)"

// ToBeScreened reports whether an item has to be judged before it is summarized.
func ToBeScreened(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) bool {
	return source.Criteria() != "" && !item.Status.Screening.Passed()
}

// SummaryRequest is what the providers are asked.
func SummaryRequest(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, from article.Request, text article.Article) provider.Request {
	request := provider.Request{
		Title:         item.Spec.Title,
		URL:           item.Spec.URL,
		Text:          text.Text,
		MaxCharacters: source.MaxCharacters(),
	}
	if text.HeadlineOnly {
		request.Text, request.HeadlineOnly = "", true // the title says it
	}
	if len(text.Document) > 0 {
		request.Document = &provider.Document{MIMEType: provider.MIMETypePDF, Data: text.Document}
	}
	if !text.FromFeed {
		request.Description = from.FeedText
	}
	if wanted := source.Spec.Summary; wanted != nil {
		request.Language, request.Instructions = wanted.Language, wanted.Instructions
	}
	if ToBeScreened(item, source) {
		request.Screening = &provider.Screening{Criteria: source.Criteria()}
	}
	return request
}
