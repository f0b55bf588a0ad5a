// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"context"
	"net/http"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// defaultMaxDescription is what Mastodon takes.
const defaultMaxDescription = 1500

// Image is a picture that a post is to show.
type Image struct {
	Content []byte
	// Type of the content, such as image/png.
	Type string
	// Description is its alternative text. May be empty.
	Description string
}

// Illustrator is a Destination that takes images for posts. Errors are *failure.Error.
type Illustrator interface {
	// Upload makes one call, which gives an image to the other side, and returns its ID there. While it is not ready, no post
	// may show it yet. An image that no post shows is gone after a while.
	Upload(ctx context.Context, image Image) (id string, ready bool, err error)
	// Uploaded reports whether an image is ready by now.
	Uploaded(ctx context.Context, id string) (ready bool, err error)
}

// AltText makes of outside text the description of an image, in one line, within the limits.
func AltText(text string, limits Limits) string {
	most := limits.MaxDescription
	if most <= 0 {
		most = defaultMaxDescription
	}
	return plaintext.Cut(plainLine(text, most), most)
}

// MayBlameImage reports for a post with an image that has failed whether it may have failed for that: it was refused for what it
// says, and with certainty not published. Servers word differently that they do not have an image (any more).
func MayBlameImage(err error) bool {
	known := failure.Classify(err)
	switch known.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity:
		return Certain(err) && known.Type != failure.TypeTooLong
	}
	return false
}
