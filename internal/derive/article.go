// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/itemcontent"
	"github.com/feed-operator/feed-operator/internal/plaintext"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// ArticleRequest returns where the text of an item comes from. It fails where the item's own content
// cannot be read.
func ArticleRequest(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (article.Request, error) {
	content, err := itemcontent.Unpack(item.Spec.Content, item.Spec.CompressedContent)
	if err != nil {
		return article.Request{}, err
	}
	request := article.Request{
		URL:      item.Spec.URL,
		Title:    item.Spec.Title,
		FeedText: bounded(plaintext.Text(content)),
		Source:   source.ArticleSource(),
		MaxBytes: source.MaxArticleBytes(),
		Timeout:  source.FetchTimeout(),
	}
	if redact.IsMasked(request.URL) {
		return withoutPage(request)
	}
	return request, nil
}

// maxFeedText is how much of the feed's own text is used, in bytes: more than any model reads.
const maxFeedText = 1 << 20

// bounded cuts a text on the border of a character. The rest is freed.
func bounded(text string) string {
	if len(text) <= maxFeedText {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxFeedText]), "")
}

// ArticleRequestTakes returns how much memory ArticleRequest takes, in bytes.
func ArticleRequestTakes(item *v1alpha1.FeedItem) int64 {
	const copies = 6 // of the content, until it is a text
	return copies * itemcontent.Unpacked(item.Spec.Content, item.Spec.CompressedContent)
}

// withoutPage is the request for an article whose link holds a secret that is masked: its page cannot
// be asked for, so what the feed says has to do.
func withoutPage(request article.Request) (article.Request, error) {
	if request.FeedText == "" {
		return request, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL,
			"The feed has put a secret of the operator into the link of the entry, where it is masked, so the page cannot be read; "+
				"nor does the feed hold the article. Ask who runs the feed for links without credentials")
	}
	request.Source = v1alpha1.ArticleSourceFeed
	return request, nil
}

// Skips reports whether an item is done with for a reason that another attempt cannot change: the page is too large, or
// there is nothing to read at all.
func Skips(reason v1alpha1.Reason) bool {
	return reason == v1alpha1.ReasonLargeFileSkipped || reason == v1alpha1.ReasonNoContent
}

// ArticleReason is why an item is not worked on further whose article could not be had.
func ArticleReason(cause *failure.Error) v1alpha1.Reason {
	switch cause.Type {
	case failure.TypeTooLarge:
		return v1alpha1.ReasonLargeFileSkipped
	case article.TypeNoContent:
		return v1alpha1.ReasonNoContent
	case article.TypeNotReady:
		return v1alpha1.ReasonPageNotReady
	}
	return v1alpha1.ReasonDownloadFailed
}
