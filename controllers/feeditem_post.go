// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/postmemory"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// post is one delivery of an item that is to be worked on now, with what that takes.
type post struct {
	source      *v1alpha1.FeedSource
	destination string
	resource    schedule.Resource
	policy      lifecycle.DeliveryPolicy
	timeout     time.Duration
	// to publishes, by revision of the spec and the Secret.
	to       *publisher
	revision string
	// unavailable says why nothing can be posted until a person changes something; refused is set
	// when that is because the credentials are refused, and cured is when that was cured last.
	unavailable string
	refused     *failure.Error
	cured       time.Time
	// ticket is the right to call the destination now, and place is where it is worked on, which may go on after the
	// reconcile that began it.
	ticket, place *schedule.Ticket
	// where it posts, if that is known, and what was posted there.
	target postmemory.Target
	known  bool
	memory *postmemory.Memory
	// heldBy is the item that posts the same entry there now, or may have posted it.
	heldBy string
	// doubt is set where an item that is gone may have posted the entry.
	doubt *postmemory.Reservation
	// holds is the item whose entry is kept for this post.
	holds types.UID
	// publication is what is posted, made when there is a ticket.
	publication destination.Post
	// calls of this intent that have failed, and how long was waited between them.
	calls  int
	waited time.Duration
	// apart says that the work goes on outside a reconcile.
	apart bool
	// releases that are known when the work on it begins.
	releases lifecycle.Releases
	// decided is set when it is known without a call what comes of the delivery.
	decided *lifecycle.DeliveryOutcome
}

// toPost are the resources that the work on a delivery takes, for Turn.AcquireAll.
func toPost(to schedule.Resource) [][]schedule.Resource {
	return [][]schedule.Resource{queue.Only(queue.ItemPlaces), queue.Only(to)}
}

// has notes what toPost has named, and what was granted of it. The place is the post's from now on: a turn that began
// with it needs another one for whatever else it does. So whoever calls it has deferred giveBack before, which also
// counts where the work on the post panics.
func (p *post) has(turn *schedule.Turn, taken []*schedule.Ticket, granted bool) {
	if granted {
		p.place, p.ticket = taken[0], taken[1]
		turn.Entrust(p.place)
	}
}

// handOver returns the post as it is worked on when the turn has ended, with all that it has.
func (p *post) handOver(turn *schedule.Turn) *post {
	if p.ticket != nil {
		turn.Entrust(p.ticket)
	}
	handed := *p
	handed.apart = true
	p.place, p.ticket, p.holds = nil, nil, ""
	return &handed
}

// giveBackAll is giveBack for several.
func giveBackAll(posts []*post) {
	for _, p := range posts {
		p.giveBack()
	}
}

// giveBack returns the place, and the ticket if it was not used for a call; nothing of what was handed over.
func (p *post) giveBack() {
	if p.ticket != nil {
		p.ticket.Release()
	}
	if p.place != nil {
		p.place.Done()
	}
	if p.holds != "" {
		p.memory.Rest(p.holds)
	}
}

// postTo finds what it takes to post an item to a destination.
func (r *FeedItemReconciler) postTo(ctx context.Context, source *v1alpha1.FeedSource, name string) (*post, error) {
	p, err := postTo(ctx, r.Client, r.Services, types.NamespacedName{Namespace: source.Namespace, Name: name})
	if err != nil {
		return nil, err
	}
	p.source = source
	return p, nil
}

// postTo finds what it takes to post to a destination.
func postTo(ctx context.Context, reader client.Reader, known *services.Services, key types.NamespacedName) (*post, error) {
	p := &post{destination: key.Name, resource: schedule.Destination(key), policy: lifecycle.DeliveryPolicyOf(&v1alpha1.FeedDestination{})}
	var described v1alpha1.FeedDestination
	switch err := reader.Get(ctx, key, &described); {
	case apierrors.IsNotFound(err):
		p.unavailable = missingObject
		return p, nil
	case err != nil:
		return nil, err
	}
	caller, revision, withdrawn, _ := known.Standing(p.resource)
	p.to, _ = caller.(*publisher)
	p.target, p.known = targetOf(&described, p.to)
	p.revision, p.timeout, p.policy = revision, described.Timeout(), lifecycle.DeliveryPolicyOf(&described)
	p.cured = believable.TimeOf(described.Status.ReleasedTime)
	if withdrawn != nil {
		p.unavailable, p.refused = withdrawn.Because, withdrawn.Refused
	}
	return p, nil
}

// compose makes the text of a post.
func (r *FeedItemReconciler) compose(p *post, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (destination.Post, error) {
	material := derive.Material(item, source)
	if material.FeedTitle == "" {
		material.FeedTitle = r.Names.of(source)
	}
	return p.to.composer.Compose(material, destination.Limits{
		MaxCharacters: int(p.to.server.MaxCharacters), CharactersPerURL: int(p.to.server.CharactersPerURL),
	})
}

// deliveryFailed is the outcome of a delivery that has failed.
func (r *FeedItemReconciler) deliveryFailed(p *post, err error) lifecycle.DeliveryOutcome {
	now := r.Clock.Now()
	known := failure.Classify(err)
	outcome := lifecycle.DeliveryOutcome{
		Destination: p.destination,
		Failure:     failure.Record(err, v1alpha1.StageDeliver, p.destination, now),
		RetryAfter:  known.RetryAfter,
	}
	if known.Category == v1alpha1.CategoryAuth {
		outcome.Failure.Time = failedAt(p.cured, now)
	}
	return outcome
}
