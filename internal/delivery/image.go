// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/picture"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/web"
)

const (
	// imagePatience is how long a post waits, all in all, for the host of its image to be free and for room in memory.
	imagePatience = 10 * time.Second
	// imageChecks is how often the server is asked whether an image is ready. The first wait is a second, each further one twice as long.
	imageChecks = 5
	// maxImageMessage is what a row can hold.
	maxImageMessage = 512
)

// illustrated reports whether an item has an image that is to be uploaded before it is posted.
func (p *post) illustrated(item *v1alpha1.FeedItem) bool {
	if !p.Images || p.Publisher == nil || item.Image() == nil {
		return false
	}
	_, can := p.Publisher.Destination.(destination.Illustrator)
	row := lifecycle.RowOf(item, p.Destination)
	return can && (row == nil || row.Image == nil)
}

// illustrate uploads the image of a post that is about to be announced, with the ticket for the destination. It reports whether it has tried, which
// takes a while. What came of it is in p.image, for the intent; without the image the post goes out all the same. Only what says that
// the destination takes nothing at the moment is in p.notUploaded, and keeps the post waiting as if it had come of the post.
//
// One that may have been posted before is left as it was then.
func (p *post) illustrate(ctx context.Context, e *Engine, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, unfit error, decidedAt time.Time) bool {
	missing := p.decided != nil && p.decided.Missing
	if !p.illustrated(item) || unfit != nil || !missing && (p.decided != nil || lifecycle.MustLookUp(lifecycle.RowOf(item, p.Destination))) {
		return false
	}
	if !e.claimPost(item.DeepCopy(), source, p, unfit, decidedAt) { // it is not its turn
		return false
	}
	if e.Images.recall(item, p, apiclock.PassedBy(e.Clock)) {
		return true
	}
	id, err := e.Images.upload(ctx, item, p)
	failed := failure.Classify(err)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		p.image = &v1alpha1.DeliveryImage{ID: id}
	case failed.Status == http.StatusUnauthorized, failed.Category == v1alpha1.CategoryRateLimit:
		if id != "" && failed.Status != http.StatusUnauthorized { // the server has it: it is not to get it again after each pause
			p.image = &v1alpha1.DeliveryImage{ID: id}
		}
		outcome := p.failed(failed, e.Clock.Now())
		if e.Services.CallEnded(p.Ticket, p.Revision, v1alpha1.StageDeliver, 0, failed) {
			outcome = lifecycle.DeliveryOutcome{Again: true}
		}
		p.notUploaded = &outcome
	default:
		p.image = p.withoutImage(ctx, err, e.Clock.Now())
		p.imageMayCome = failed.Category == v1alpha1.CategoryNetwork || failed.Category == v1alpha1.CategoryAPI
	}
	if !p.Unchanged(ctx, e.Client, e.Services, item.Namespace) {
		p.image = nil // it may be at another server than the next attempt
	}
	e.Images.remember(item, p, apiclock.PassedBy(e.Clock))
	return true
}

// withoutImage says why a post has no image.
func (p *post) withoutImage(ctx context.Context, err error, now time.Time) *v1alpha1.DeliveryImage {
	said := failure.Record(err, v1alpha1.StageDeliver, p.Destination, now).Message
	ctrl.LoggerFrom(ctx).Info("Posting without the image", "destination", p.Destination, "reason", said)
	return &v1alpha1.DeliveryImage{Message: conditions.Cut("The post has no image: "+said, maxImageMessage)}
}

// imageRefused notes that a post was refused with its image. One of an earlier attempt may be gone by now, or be at the server that the destination
// posted to then: it is uploaded once more. One that was uploaded just now is left out.
func (p *post) imageRefused(ctx context.Context, outcome *lifecycle.DeliveryOutcome, err error, now time.Time) {
	if outcome.Again = true; p.image == nil {
		outcome.ImageAgain = true
		return
	}
	outcome.Image = p.withoutImage(ctx, failure.Wrap(v1alpha1.CategoryValidation, "", "It was refused with one. "+failure.Classify(err).Message, err), now)
}

// Images gives the images of items to destinations.
type Images struct {
	clock     clock.Clock
	schedule  *schedule.Schedule
	pictures  *picture.Fetcher
	unwritten *lru.Cache // unwrittenImage by illustrationOf
}

// NewImages downloads images with a fetcher, when it is the turn of who asks.
func NewImages(clock clock.Clock, plan *schedule.Schedule, pictures *picture.Fetcher) *Images {
	return &Images{clock: clock, schedule: plan, pictures: pictures, unwritten: lru.New(maxUnwrittenImages)}
}

// upload fetches the image of an item and gives it to its destination. It returns its ID there when it can be used; with an error, where the server has
// taken it and only whether it can be used is not known. A failure of the category RateLimit is the destination's, never that of the host of the image.
func (i *Images) upload(ctx context.Context, item *v1alpha1.FeedItem, p *post) (id string, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = failure.Panicked(value, debug.Stack())
		}
	}()
	room := i.pictures.Room(item.Namespace)
	defer room.Release()
	limits := p.Publisher.Limits()
	content, kind, err := i.fetch(ctx, item, p, picture.Limits{MaxBytes: limits.MaxImageBytes, Types: limits.ImageTypes}, room)
	if err != nil {
		failed := failure.Classify(err)
		return "", failure.Wrap(v1alpha1.CategoryValidation, failed.Type, failed.Message, err)
	}
	to, _ := p.Publisher.Destination.(destination.Illustrator) // illustrated has seen that it is one
	began := apiclock.PassedBy(i.clock)                        // a clock that is set meanwhile neither ends this nor prolongs it
	left := func() time.Duration { return p.Timeout - (apiclock.PassedBy(i.clock) - began) }
	calling, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	id, ready, err := to.Upload(calling, destination.Image{
		Content: content, Type: kind, Description: destination.AltText(item.Image().Description, limits),
	})
	room.Release() // nothing of it is held while the server works on it
	for wait := time.Second; err == nil && !ready; wait *= 2 {
		if wait > time.Second<<imageChecks || !i.pause(ctx, wait) || left() <= 0 {
			return "", failure.New(v1alpha1.CategoryAPI, failure.TypeTimeout, "The server had not finished its work on the image in time.")
		}
		asking, cancel := context.WithTimeout(ctx, left())
		ready, err = to.Uploaded(asking, id)
		cancel()
	}
	return id, err
}

// fetch downloads the image of an item when it is the turn of its namespace at the host, and there is room in memory: it waits a little for both.
func (i *Images) fetch(ctx context.Context, item *v1alpha1.FeedItem, p *post, limits picture.Limits,
	room *budget.Room,
) (content []byte, kind string, err error) {
	address := item.Image().URL
	host := outbound.HostOf(address)
	if host == "" || redact.IsMasked(address) {
		return nil, "", failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL, "The address of the image cannot be used.")
	}
	turn := i.schedule.Enter("image/" + string(item.UID) + "/" + p.Destination)
	defer turn.Leave()
	began := i.clock.Now()
	for waited := time.Duration(0); ; {
		wait := time.Second
		if taken, free := turn.Try(deliveryRank(item), queue.Only(schedule.Host(host))); free {
			content, kind, err = i.pictures.Fetch(ctx, address, limits, room)
			web.HostEnded(taken[0], err)
			if !errors.Is(err, budget.ErrFull) {
				return content, kind, err
			}
		} else {
			err = failure.New(v1alpha1.CategoryRateLimit, failure.TypeThrottled, host+" has asked for a pause, or is asked for too much else.")
			if until, known, _ := i.schedule.Wait(schedule.Host(host)); known {
				wait = max(until.Sub(i.clock.Now()), time.Millisecond)
			}
		}
		// What a download took that found no room in the end counts, too: a host that is slow could be asked ten times else.
		if waited += wait; max(waited, i.clock.Since(began)+wait) > imagePatience || !i.pause(ctx, wait) {
			return nil, "", err
		}
	}
}

// pause waits, by the clock; false where the manager stops meanwhile.
func (i *Images) pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-i.clock.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
