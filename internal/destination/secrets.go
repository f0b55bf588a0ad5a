// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import "github.com/feed-operator/feed-operator/internal/redact"

// withoutSecrets returns the material without the secrets that this process knows of: also of an item
// that was made before it knew of them.
func (m Material) withoutSecrets() Material {
	for _, text := range []*string{&m.Title, &m.Summary, &m.URL, &m.Author, &m.FeedTitle} {
		*text = redact.Values(*text)
	}
	categories := make([]string, 0, len(m.Categories))
	for _, category := range m.Categories {
		categories = append(categories, redact.Values(category))
	}
	m.Categories = categories
	return m
}
