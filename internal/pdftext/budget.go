// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import "context"

// Memory is how much memory Read takes at most, in bytes beside the document: what the bounds below come to.
const Memory = 44 << 20

// What reading one document may cost. A few kilobytes can ask for gigabytes: streams that inflate a
// thousandfold, forms that draw each other, ranges of millions of characters. What is above a bound is
// not read, and what was read until then stays.
const (
	// maxFile is how large a document may be, in bytes.
	maxFile = 32 << 20
	// maxInflated is what all its streams may come to, and maxStream one of them.
	maxInflated = 48 << 20
	maxStream   = 12 << 20
	// maxTokens is how many numbers, strings, names and operators are looked at. To go through bytesPerToken
	// bytes costs as much.
	maxTokens     = 900_000
	bytesPerToken = 64
	// nodeCost is what a node of the tree of pages costs, in tokens, streamCost what a stream does beside its
	// bytes, fontCost what a font does, which is a table of 256 codes, and dictCost what a dictionary does
	// beside what is in it, which takes as much memory as several numbers.
	nodeCost   = 64
	streamCost = 64
	fontCost   = 256
	dictCost   = 3
	// maxString is how much of a string is taken, in bytes (ISO 32000-1, table C.1).
	maxString = 32_767
	// maxTarget is how long a text is, in bytes, that one code may mean (ISO 32000-1, 9.10.3).
	maxTarget = 512
	// maxText is how long the text may become, in bytes: some 300,000 Japanese characters.
	maxText = 1 << 20
	// maxPages is how many pages are read.
	maxPages = 500
	// maxDepth is how deep objects, pages and forms may be nested.
	maxDepth = 32
)

// budget is what is left to be spent on a document.
type budget struct {
	ctx      context.Context // it lives as long as one call of Read
	tokens   int
	inflated int
	text     int
}

func newBudget(ctx context.Context) *budget {
	return &budget{ctx: ctx, tokens: maxTokens, inflated: maxInflated, text: maxText}
}

// spend takes tokens for work that is not done token by token. It does not say whether there are any left: a
// loop over what a document names asks token as well, or it goes on when there are none.
func (b *budget) spend(tokens int) { b.tokens = max(0, b.tokens-tokens) }

// token takes one token, and says whether there was one left. The context ends the budget.
func (b *budget) token() bool {
	if b.tokens <= 0 {
		return false
	}
	b.tokens--
	if b.tokens%1024 == 0 && b.ctx.Err() != nil {
		b.tokens = 0
	}
	return b.tokens > 0
}
