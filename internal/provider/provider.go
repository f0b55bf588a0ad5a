// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider holds what every writer of summaries has in common: the Provider interface,
// and the chain in which several of them stand in for each other.
//
// A provider makes one call and reports what came of it. It knows nothing of retries, of waiting
// or of Kubernetes.
package provider

import "context"

// Request asks for a summary of one article, and for a verdict on it where Screening is set.
type Request struct {
	// Title of the article, plain text. May be empty.
	Title string
	// URL of the article. May be empty.
	URL string
	// Text of the article, plain text, paragraphs separated by an empty line.
	Text string
	// Document that Text was taken out of; nil where the article is no document. Text may be empty then. A
	// provider that reads documents takes this, the others take Text.
	Document *Document
	// HeadlineOnly is set if the title is all there is of the article, and all there will be. Text is empty then.
	HeadlineOnly bool
	// Description is what the feed itself says of the article, plain text. May be empty.
	Description string
	// MaxCharacters bounds the summary, in characters as a reader counts them (grapheme clusters).
	MaxCharacters int
	// Language of the summary as a BCP 47 tag, such as "ja"; empty for that of the article.
	Language string
	// Instructions are what the owner of the source wants of the summary, in their own words. May be empty.
	Instructions string
	// Screening asks whether the article is worth a summary at all; nil does not ask.
	Screening *Screening
}

// Screening is what an article is judged by, before it is summarized in the same call.
type Screening struct {
	// Criteria by which an article is worth a summary, in the words of the owner of the source.
	Criteria string
	// Only asks for the verdict alone: another provider writes the summary.
	Only bool
}

// Response is what a provider made of a request.
type Response struct {
	// Summary is plain text of at most Request.MaxCharacters characters. It is empty only where
	// the verdict is against the article, or was all that was asked for.
	Summary string
	// Verdict on the article; set exactly when Request.Screening was.
	Verdict *Verdict
	// Model that wrote it, as the provider names it.
	Model string
	// Tokens that the provider counted, input and output together; 0 where it does not count. A chain
	// takes it for MaxTokens at most.
	Tokens int64
}

// Verdict is a provider's judgement of an article.
type Verdict struct {
	// Valuable is set if the article meets the criteria.
	Valuable bool
	// Complete is set if the page holds the whole article, and not a placeholder, a notice that it
	// comes later, a login form or an error.
	Complete bool
	// Explanation of the judgement for a person, one sentence.
	Explanation string
}

// asksOnly reports whether a request is for a verdict alone.
func (r Request) asksOnly() bool { return r.Screening != nil && r.Screening.Only }

// Against reports whether the article is not to be summarized, or not yet.
func (v *Verdict) Against() bool { return v != nil && !(v.Valuable && v.Complete) }

// Provider writes a summary. An error it returns is a *failure.Error, or is classified by
// failure.Classify. An empty summary without a verdict against the article is an error, never a
// Response. Where a call has failed but its verdict came in nevertheless, because the summary is
// missing or cut off, the Response that is returned beside the error holds the verdict and the
// tokens.
type Provider interface {
	Generate(ctx context.Context, request Request) (Response, error)
}
