// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/postmemory"
)

const (
	// maxUnwrittenImages is how many are remembered. Of more than that, those are uploaded once more that were not asked for longest.
	maxUnwrittenImages = 1024
	// unwrittenImageTTL is well below what servers keep an image for that no post has: a day, at Mastodon.
	unwrittenImageTTL = time.Hour
)

// illustrationOf is one image for one post. An ID means nothing elsewhere, so that where it is posted belongs to it.
type illustrationOf struct {
	item        types.UID
	destination string
	target      postmemory.Target
	url         string
}

// unwrittenImage is what has become of an image, until the item says it: an intent that cannot be written, whoever refuses it, is tried again
// and again, and the image is not to be uploaded each time.
type unwrittenImage struct {
	image   *v1alpha1.DeliveryImage
	mayCome bool
	at      time.Duration
}

// recall gives a post what is known of its image, and reports whether that is anything. Passed is what time has passed since some moment.
func (i *Images) recall(item *v1alpha1.FeedItem, p *post, passed time.Duration) bool {
	found, _ := i.unwritten.Get(illustrationFor(item, p))
	kept, known := found.(unwrittenImage)
	if !known || passed-kept.at >= unwrittenImageTTL {
		return false
	}
	p.image, p.imageMayCome = kept.image, kept.mayCome
	return true
}

// remember keeps what has become of the image of a post.
func (i *Images) remember(item *v1alpha1.FeedItem, p *post, passed time.Duration) {
	if p.image != nil {
		i.unwritten.Add(illustrationFor(item, p), unwrittenImage{p.image.DeepCopy(), p.imageMayCome, passed})
	}
}

// written forgets what the item says now.
func (i *Images) written(item *v1alpha1.FeedItem, p *post) {
	if p.image != nil {
		i.unwritten.Remove(illustrationFor(item, p))
	}
}

func illustrationFor(item *v1alpha1.FeedItem, p *post) illustrationOf {
	of := illustrationOf{item: item.UID, destination: p.Destination, target: p.Target}
	if image := item.Image(); image != nil {
		of.url = image.URL
	}
	return of
}
