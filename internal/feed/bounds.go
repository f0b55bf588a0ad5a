// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// Bounds, in characters, of what leaves this package. Those of entries are the bounds of
// v1alpha1.FeedItemSpec.
const (
	maxLanguage   = 64
	maxGUID       = 2048
	maxURL        = 4096
	maxTitle      = 1024
	maxAuthor     = 256
	maxCategory   = 128
	maxCategories = 32
	maxAltText    = 1500
)

// MaxTitle bounds the title of a document, in characters.
const MaxTitle = 512

// boundedGUID keeps the identity of a GUID that is too long.
func boundedGUID(guid string) string {
	guid = plaintext.Line(guid)
	if utf8.RuneCountInString(guid) <= maxGUID {
		return guid
	}
	sum := sha256.Sum256([]byte(guid))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plainCategories returns the categories without empty and repeated ones.
func plainCategories(categories []string) []string {
	var plain []string
	listed := map[string]bool{}
	for _, category := range categories {
		category = plaintext.Cut(plaintext.Title(category), maxCategory)
		if category == "" || listed[category] {
			continue
		}
		if len(plain) == maxCategories {
			break
		}
		listed[category] = true
		plain = append(plain, category)
	}
	return plain
}
