// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider holds what every writer of summaries has in common: the Provider interface,
// and the chain in which several of them stand in for each other.
//
// A provider makes one call and reports what came of it. It knows nothing of retries, of waiting
// or of Kubernetes.
package provider

import "context"

// Request asks for a summary of one article.
type Request struct {
	// Title of the article, plain text. May be empty.
	Title string
	// Text of the article, plain text, paragraphs separated by an empty line.
	Text string
	// Description is what the feed itself says of the article, plain text. May be empty.
	Description string
	// MaxCharacters bounds the summary, in characters as a reader counts them (grapheme clusters).
	MaxCharacters int
}

// Response is what a provider made of a request.
type Response struct {
	// Summary is plain text of at most Request.MaxCharacters characters, never empty.
	Summary string
	// Model that wrote it, as the provider names it.
	Model string
	// Tokens that the provider counted, input and output together; 0 where it does not count.
	Tokens int64
}

// Provider writes a summary. An error it returns is a *failure.Error, or is classified by
// failure.Classify. An empty summary is an error, never a Response.
type Provider interface {
	Generate(ctx context.Context, request Request) (Response, error)
}
