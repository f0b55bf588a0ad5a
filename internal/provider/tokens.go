// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

// MaxTokens is what a request costs at most, in tokens, whatever a server claims that it has cost: far
// more than any model reads and writes in one. What thousands of requests cost is still a number that
// every reader of JSON has exactly (below 2^53), and so one that the API server takes.
const MaxTokens = 1_000_000_000

// SumTokens adds up what a server has counted for one request. No count is below 0 or above MaxTokens,
// nor is the sum.
func SumTokens(counts ...int64) int64 {
	sum := int64(0)
	for _, count := range counts {
		sum = min(sum+min(max(count, 0), MaxTokens), MaxTokens)
	}
	return sum
}
