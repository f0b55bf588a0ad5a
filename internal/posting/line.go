// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posting

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/postmemory"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// Line is the way to one destination: what is known of it, and what the schedule has granted there.
type Line struct {
	Destination string
	Resource    schedule.Resource
	Policy      lifecycle.DeliveryPolicy
	Timeout     time.Duration
	// Publisher publishes, by revision of the spec and the Secret; nil while nothing is known that publishes as the spec asks for.
	Publisher *Publisher
	Revision  string
	// Unavailable is why nothing can be posted until a person changes something; Refused is set
	// when that is because the credentials are refused, and Restored is when such credentials were replaced last.
	Unavailable string
	Refused     *failure.Error
	Restored    time.Time
	// Ticket is the right to call the destination now, and Place is where it is worked on, which may go on after the
	// reconcile that began it.
	Ticket, Place *schedule.Ticket
	// Batch is how items are sent several at a time; nil: each by itself. InBatch reports whether one is in a batch that is not finished.
	Batch   *v1alpha1.WebhookBatch
	InBatch func(item types.UID) bool
	// Images is set if posts carry the images of their entries.
	Images bool
	// Target is where it posts, if that is known.
	Target postmemory.Target
	Known  bool
}

// Needs are the resources that the work on a delivery takes, for Turn.AcquireAll.
func Needs(to schedule.Resource) [][]schedule.Resource {
	return [][]schedule.Resource{queue.Only(queue.ItemPlaces), queue.Only(to)}
}

// Assign notes what was granted of what Needs names. The place is the line's from now on: a turn that began
// with it needs another one for whatever else it does. So whoever calls it has deferred GiveBack before, which also
// counts where the work panics.
func (l *Line) Assign(turn *schedule.Turn, taken []*schedule.Ticket, granted bool) {
	if granted {
		l.Place, l.Ticket = taken[0], taken[1]
		turn.Detach(l.Place)
	}
}

// HandOver returns the line as it is used when the turn has ended, with all that it has.
func (l *Line) HandOver(turn *schedule.Turn) *Line {
	if l.Ticket != nil {
		turn.Detach(l.Ticket)
	}
	handed := *l
	l.Place, l.Ticket = nil, nil
	return &handed
}

// GiveBack returns the place, and the ticket if it was not used for a call; nothing of what was handed over.
func (l *Line) GiveBack() {
	if l.Ticket != nil {
		l.Ticket.Cancel()
	}
	if l.Place != nil {
		l.Place.Done()
	}
}

// Unchanged reports whether a destination is still called as it was when the line was found: it may have been suspended meanwhile, or
// post elsewhere, or be another one.
func (l *Line) Unchanged(ctx context.Context, reader client.Reader, known *services.Services, namespace string) bool {
	now, _, err := find(ctx, reader, known, types.NamespacedName{Namespace: namespace, Name: l.Destination})
	return err == nil && now.Publisher != nil && now.Revision == l.Revision
}

// EventsOnly is why a destination gets no posts which gets events of items.
const EventsOnly = "it gets events of items (spec.webhook.events), so it gets no posts: name another one in the source"

// To finds the way to a destination for posts and notifications. One that gets events gets neither: who waits for it waits until its spec
// is changed.
func To(ctx context.Context, reader client.Reader, known *services.Services, key types.NamespacedName) (*Line, error) {
	l, described, err := find(ctx, reader, known, key)
	if err == nil && described != nil && described.Events() != nil {
		l.Resource = schedule.ChangeOf(l.Resource)
		l.Publisher, l.Unavailable, l.Refused = nil, EventsOnly, nil
	}
	return l, err
}

// ForEvents finds the way to a destination for events of items; nil where there is none that gets them.
func ForEvents(ctx context.Context, reader client.Reader, known *services.Services, key types.NamespacedName) (*Line, *v1alpha1.FeedDestination, error) {
	l, described, err := find(ctx, reader, known, key)
	if err != nil || described == nil || described.Events() == nil || !described.DeletionTimestamp.IsZero() {
		return nil, nil, err
	}
	return l, described, nil
}

// find finds the way to a destination, and the destination itself; nil where it does not exist.
func find(ctx context.Context, reader client.Reader, known *services.Services, key types.NamespacedName) (*Line, *v1alpha1.FeedDestination, error) {
	l := &Line{Destination: key.Name, Resource: schedule.Destination(key), Policy: lifecycle.DeliveryPolicyOf(&v1alpha1.FeedDestination{}),
		InBatch: func(types.UID) bool { return false }}
	var described v1alpha1.FeedDestination
	switch err := reader.Get(ctx, key, &described); {
	case apierrors.IsNotFound(err):
		l.Unavailable = services.MissingObject
		return l, nil, nil
	case err != nil:
		return nil, nil, err
	}
	caller, revision, withdrawn, _ := known.Lookup(l.Resource)
	if services.IsOf(revision, &described) {
		l.Publisher, _ = caller.(*Publisher)
	}
	l.Target, l.Known = TargetOf(&described, l.Publisher)
	l.Revision, l.Timeout, l.Policy = revision, described.Timeout(), lifecycle.DeliveryPolicyOf(&described)
	l.Batch, l.InBatch = described.Batch(), described.HasInBatch
	l.Images = described.AttachesImages()
	l.Restored = believable.TimeOf(described.Status.CredentialsRestored())
	if withdrawn != nil {
		l.Unavailable, l.Refused = withdrawn.Because, withdrawn.Refused
	}
	return l, &described, nil
}
