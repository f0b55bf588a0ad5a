// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"

	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// standInAddress is where the stand-in for Mastodon is, unless the port is taken.
const standInAddress = "127.0.0.1:8089"

// standIn is a Mastodon on this machine, with one account. Its page shows what was posted.
type standIn struct {
	*mastodontest.Server
	arrivals
	token string
}

func startStandIn(ctx context.Context) (*standIn, error) {
	address, err := freeAddress(ctx, standInAddress)
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	s := &standIn{token: token, Server: mastodontest.NewUnstarted(mastodontest.Options{
		Address: address, Token: token, TokenMayRead: true,
	})}
	return s, s.Start() //nolint:contextcheck // it serves until it is closed
}

// showPosts shows each post as it arrives, until ctx ends.
func (s *standIn) showPosts(ctx context.Context, show func(text string)) {
	for {
		seen := s.showNew(show)
		if _, err := s.Await(ctx, seen+1); err != nil {
			return
		}
	}
}

// showNew shows the posts that were not shown yet, and returns how many were shown in all.
func (s *standIn) showNew(show func(text string)) int {
	posts := s.Posts()
	return s.upTo(len(posts), func(i int) { show(readable(posts[i], i+1, s.URL+"/@feeds/"+posts[i].ID)) })
}
