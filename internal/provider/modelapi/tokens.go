// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelapi

import (
	"math"
	"strconv"

	"github.com/feed-operator/feed-operator/internal/provider"
)

// Tokens is a count of tokens as an API writes it in JSON. It is read without an error whatever it is,
// from 0 to provider.MaxTokens: that a count is nonsense is no reason to lose an answer that is paid for.
type Tokens int64

// UnmarshalJSON implements json.Unmarshaler. What is no number is 0.
func (t *Tokens) UnmarshalJSON(data []byte) error {
	count, err := strconv.ParseFloat(string(data), 64) // beyond its range it is an infinite number, and an error
	if math.IsNaN(count) || err != nil && !math.IsInf(count, 0) {
		count = 0
	}
	*t = Tokens(min(max(count, 0), provider.MaxTokens))
	return nil
}
