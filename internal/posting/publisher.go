// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posting

import (
	"context"
	"runtime/debug"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/postmemory"
)

// Publisher is what calls a destination: who posts, and who writes the posts.
type Publisher struct {
	destination.Destination
	destination.Writer
	// Server is what it has said of itself, if it can be asked.
	Server v1alpha1.DestinationServer
}

// Limits are those of the server for a post.
func (p *Publisher) Limits() destination.Limits {
	return destination.Limits{
		MaxCharacters: int(p.Server.MaxCharacters), CharactersPerURL: int(p.Server.CharactersPerURL),
		MaxImageBytes: p.Server.MaxImageBytes, ImageTypes: p.Server.ImageTypes, MaxDescription: int(p.Server.MaxDescription),
	}
}

// TargetOf is where a destination posts, as far as that is known: it has to be asked for its account.
func TargetOf(described *v1alpha1.FeedDestination, to *Publisher) (postmemory.Target, bool) {
	if to == nil {
		return postmemory.TargetOf(described, described.Status.Server)
	}
	return postmemory.TargetOf(described, &to.Server)
}

// DeliverSafely publishes a post, and turns a panic of a library into a failure of which nobody knows what it has done.
func (p *Publisher) DeliverSafely(ctx context.Context, key string, publication destination.Post) (receipt destination.Receipt, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = failure.Panicked(value, debug.Stack())
		}
	}()
	return p.Deliver(ctx, key, publication)
}

// AsFailure is an error in the form in which services know it, nil for none.
func AsFailure(err error) error {
	if err == nil {
		return nil
	}
	return failure.Classify(err)
}
