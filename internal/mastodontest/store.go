// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// keyLife is how long Mastodon remembers a key.
const keyLife = time.Hour

// keyUse is a key and the post that it made.
type keyUse struct {
	post *Post
	at   time.Time
}

func (s *Server) copied() []Post {
	posts := make([]Post, 0, len(s.posts))
	for _, post := range s.posts {
		posts = append(posts, *post)
	}
	return posts
}

// find needs the lock.
func (s *Server) find(id string) *Post {
	at, found := slices.BinarySearchFunc(s.posts, id, func(post *Post, id string) int { return compareIDs(post.ID, id) })
	if !found {
		return nil
	}
	return s.posts[at]
}

// publish needs the lock.
func (s *Server) publish(post Post) *Post {
	if post.CreatedAt.IsZero() {
		post.CreatedAt = s.options.Now()
	}
	post.CreatedAt = post.CreatedAt.UTC().Truncate(time.Millisecond)
	post.Visibility = cmp.Or(post.Visibility, "public")
	// Mastodon's ids: milliseconds, and 16 bits that tell apart what the same one brings.
	s.lastID = max(s.lastID+1, post.CreatedAt.UnixMilli()<<16)
	post.ID = fmt.Sprint(s.lastID)
	s.posts = append(s.posts, &post)
	s.attach(&post)
	if len(s.posts) > s.options.MaxPosts {
		oldest := s.posts[0]
		if s.byKey[oldest.Key].post == oldest {
			delete(s.byKey, oldest.Key)
		}
		s.posts = slices.Delete(s.posts, 0, 1)
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return &post
}

// accept makes a post of a request, or returns the one that its key has made before. It needs the
// lock.
func (s *Server) accept(post Post) (published *Post, replay bool) {
	now := s.options.Now()
	if use, known := s.byKey[post.Key]; known && now.Sub(use.at) < keyLife && s.options.Keys != IgnoresKeys {
		return use.post, true
	}
	published = s.publish(post)
	if post.Key != "" {
		s.byKey[post.Key] = keyUse{published, now}
	}
	return published, false
}

// compareIDs orders ids, which are numbers without leading zeros, as the times of their posts.
func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
