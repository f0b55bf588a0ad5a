// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// judgedBefore returns the outcome of an attempt at an article that was judged already, and has not
// changed since: it counts, but the provider is not asked again (R2.4).
func judgedBefore(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, text article.Article) (lifecycle.Outcome, bool) {
	if !derive.ToBeScreened(item, source) || item.Status.Screening == nil || item.Status.ArticleHash != judgedHash(source, text) {
		return lifecycle.Outcome{}, false
	}
	return lifecycle.Outcome{
		Token: lifecycle.Token(item), Verdict: item.Status.Screening.DeepCopy(), ArticleHash: item.Status.ArticleHash,
	}, true
}

// judgedHash is a hash of what a verdict depends on: the text, and the criteria.
func judgedHash(source *v1alpha1.FeedSource, text article.Article) string {
	sum := sha256.Sum256([]byte(text.Hash + "\n" + source.Criteria()))
	return hex.EncodeToString(sum[:16])
}

// withVerdict keeps when an attempt began that has failed, and what was paid for in it.
func withVerdict(outcome, judged lifecycle.Outcome) lifecycle.Outcome {
	outcome.Began, outcome.Verdict, outcome.ArticleHash = judged.Began, judged.Verdict, judged.ArticleHash
	return outcome
}
