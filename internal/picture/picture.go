// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package picture gets the image of an entry, from an address that the author of a feed or of a page has chosen.
//
// It knows sizes and types, by the first bytes; it never decodes an image, so that none can be a bomb. It must never know
// items or Kubernetes, and reaches the network through outbound only.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

const (
	// MaxBytes bounds an image, whatever a server takes.
	MaxBytes = 8 << 20
	// Timeout bounds its download: a post waits for it, and those behind it.
	Timeout = 10 * time.Second
)

const accept = "image/avif, image/webp, image/png, image/jpeg, image/gif, image/*;q=0.1"

// usual are the types of images that servers take which do not say what they take.
var usual = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// Limits are what the receiver of an image takes. The zero value says nothing.
type Limits struct {
	// MaxBytes of an image. 0: MaxBytes of this package.
	MaxBytes int64
	// Types of images. None: JPEG, PNG, GIF and WebP.
	Types []string
}

// Fetcher gets images. It is safe for concurrent use.
type Fetcher struct{ client *outbound.Client }

// NewFetcher returns a fetcher that downloads images with client.
func NewFetcher(client *outbound.Client) *Fetcher { return &Fetcher{client: client} }

// Room is where an image is counted, for as long as it is held.
func (f *Fetcher) Room(owner string) *budget.Room { return f.client.Budget().Document(owner) }

// Fetch returns an image and its type. The room holds it until that is released.
//
// Every error is a *failure.Error: that of the download as it came (failure.TypeTooLarge for what is above the limits;
// errors.Is(err, budget.ErrFull) where there is no room), failure.TypeUnsupported where there is no image that is taken.
func (f *Fetcher) Fetch(ctx context.Context, address string, limits Limits, room *budget.Room) (image []byte, kind string, err error) {
	most := int64(MaxBytes)
	if limits.MaxBytes > 0 {
		most = min(most, limits.MaxBytes)
	}
	err = f.client.Read(ctx, outbound.Request{URL: address, Accept: accept, MaxBytes: most, Timeout: Timeout, Room: room}, func(got *outbound.Response) error {
		kind = kindOf(got.Body)
		takes := limits.Types
		if len(takes) == 0 {
			takes = usual
		}
		if !slices.Contains(takes, kind) {
			return failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, unsupported(outbound.HostOf(got.URL), kind))
		}
		if err := room.Grow(int64(cap(got.Body))); err != nil {
			return noRoom(err)
		}
		image = got.Body
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return image, kind, nil
}

func noRoom(err error) error {
	if errors.Is(err, budget.ErrTooLarge) {
		return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeTooLarge,
			"The image takes more memory than the operator may use for one (--document-memory).", err)
	}
	return failure.Wrap(v1alpha1.CategoryNetwork, "", "There is no room in memory for the image at the moment.", err)
}

func unsupported(host, kind string) string {
	if kind == "" {
		return fmt.Sprintf("What %s answers with is no image.", host)
	}
	return fmt.Sprintf("The server does not take images of the type %s, as %s has it.", kind, host)
}

// kindOf returns the type of an image by its first bytes, and nothing for what is none: the header is the word of who
// sends it.
func kindOf(body []byte) string {
	if len(body) >= 12 && string(body[4:8]) == "ftyp" { // ISO 14496-12, of which net/http knows videos only
		switch brand := body[8:12]; {
		case bytes.Equal(brand, []byte("avif")), bytes.Equal(brand, []byte("avis")):
			return "image/avif"
		case bytes.Equal(brand, []byte("heic")), bytes.Equal(brand, []byte("heix")):
			return "image/heic"
		}
		return ""
	}
	if kind := http.DetectContentType(body); strings.HasPrefix(kind, "image/") {
		return kind
	}
	return ""
}
