// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"context"
	"net/http"
	"net/url"
	"time"

	api "github.com/mattn/go-mastodon"

	"github.com/feed-operator/feed-operator/internal/destination"
)

const (
	maxID  = 256
	maxURL = 2048
)

// Deliver posts a status with one request. Only an answer of 200 that has the id of a status is
// success.
//
// Where the server honours the key, one that was used within an hour makes no other post. Releases
// of Mastodon before September 2026 answer such a request with 500: nothing is certain then, and
// Find tells.
func (c *Client) Deliver(ctx context.Context, key string, post destination.Post) (destination.Receipt, error) {
	sent := c.now()
	var media []api.ID
	if post.ImageID != "" {
		media = []api.ID{api.ID(post.ImageID)}
	}
	status, err := c.api.PostStatus(withKey(ctx, key), &api.Toot{
		MediaIDs:    media,
		Status:      post.Text,
		SpoilerText: post.ContentWarning,
		Visibility:  post.Visibility,
		Language:    post.Language,
	})
	if err != nil {
		return destination.Receipt{}, c.failed(err)
	}
	if !usableID(status.ID) {
		return destination.Receipt{}, malformed(c.server.Host, http.StatusOK)
	}
	if !status.CreatedAt.IsZero() {
		c.clocks.posts.Seen(sent, c.now(), status.CreatedAt.Truncate(time.Second))
	}
	return receipt(status), nil
}

func receipt(status *api.Status) destination.Receipt {
	return destination.Receipt{ID: string(status.ID), URL: webAddress(status.URL)}
}

// usableID reports whether an id can be kept, shown and asked for.
func usableID(id api.ID) bool {
	text := string(id)
	return text != "" && text != "." && text != ".." && len(text) <= maxID && text == destination.PlainLine(text, maxID)
}

// webAddress returns an address that people can be led to, or nothing.
func webAddress(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxURL || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return ""
	}
	parsed.User = nil
	return parsed.String()
}
