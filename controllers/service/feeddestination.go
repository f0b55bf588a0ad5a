// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/services"
)

// FeedDestinations is the reconciler of FeedDestination: it reports whether a destination can be posted to, and opens it to those
// who wait for it.
type FeedDestinations = Reconciler[v1alpha1.FeedDestination, *v1alpha1.FeedDestination, *posting.Publisher]

// DestinationFactory makes what posts to the account that a FeedDestination describes, with its
// credentials. An error explains what in the spec cannot work.
type DestinationFactory func(described *v1alpha1.FeedDestination, credentials secrets.Values) (destination.Destination, error)

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeddestinations,verbs=get;list;watch
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeddestinations/status,verbs=patch

// NewFeedDestinations makes the reconciler of FeedDestination.
func NewFeedDestinations(tools Tools, factory DestinationFactory) *FeedDestinations {
	return &FeedDestinations{Tools: tools, kind: feedDestinations{factory: factory}}
}

// feedDestinations is the kind FeedDestination.
type feedDestinations struct{ factory DestinationFactory }

func (feedDestinations) traits() traits {
	return traits{kind: schedule.KindDestination, places: queue.DestinationCheckPlaces, looks: queue.DestinationLookPlaces, stage: v1alpha1.StageDeliver}
}

func (feedDestinations) pace(described *v1alpha1.FeedDestination) (limit schedule.Limit, last time.Time) {
	return schedule.Limit{Every: described.MinInterval(), Concurrent: described.MaxConcurrent()},
		ptr.Deref(described.Status.LastDeliveryTime, metav1.Time{}).Time
}

func (feedDestinations) credentials(ctx context.Context, live client.Reader, described *v1alpha1.FeedDestination) (secrets.Values, string, error) {
	return secrets.OfDestination(ctx, live, described)
}

func (feedDestinations) peer(described *v1alpha1.FeedDestination) any {
	if webhook := described.Spec.Webhook; webhook != nil {
		return []any{webhook.URL, webhook.URLFrom}
	}
	return described.Spec.Mastodon.Server
}

func (f feedDestinations) connect(described *v1alpha1.FeedDestination, credentials secrets.Values) (*posting.Publisher, error) {
	writer, err := connect.Writer(described)
	if err != nil {
		return nil, err
	}
	caller, err := f.factory(described, credentials)
	if err != nil {
		return nil, err
	}
	return &posting.Publisher{Destination: caller, Writer: writer}, nil
}

// check asks a destination about itself: whose account it is, how long posts may be, and
// whether the credentials allow to look at what was posted.
func (feedDestinations) check(ctx context.Context, described *v1alpha1.FeedDestination, to *posting.Publisher) (func(*v1alpha1.FeedDestination), error) {
	asked, ok := to.Destination.(destination.Checker)
	if !ok {
		return notVerifiable(described), nil
	}
	account, err := asked.Check(ctx)
	if err != nil {
		return nil, err
	}
	server := v1alpha1.DestinationServer{
		Account: conditions.Cut(account.Handle, 512), Software: conditions.Cut(account.Software, 128),
		MaxCharacters: conditions.Bounded(account.Limits.MaxCharacters), CharactersPerURL: conditions.Bounded(account.Limits.CharactersPerURL),
		MaxImageBytes: account.Limits.MaxImageBytes, ImageTypes: account.Limits.ImageTypes, MaxDescription: conditions.Bounded(account.Limits.MaxDescription),
		HonoursKeys: account.HonoursKeys, CanRead: account.CanRead,
	}
	to.Server = server
	generation := described.Generation
	return func(live *v1alpha1.FeedDestination) {
		live.Status.Server = &server
		verifiable := metav1.Condition{
			Type: v1alpha1.ConditionVerifiable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded,
			Message: "Posts whose outcome is unknown are looked for before they are sent again", ObservedGeneration: generation,
		}
		if !account.CanRead {
			verifiable.Status, verifiable.Reason = metav1.ConditionFalse, v1alpha1.ReasonTokenMayNotRead
			verifiable.Message = conditions.Cut(account.CannotRead, conditions.MaxMessage)
		}
		meta.SetStatusCondition(&live.Status.Conditions, verifiable)
	}, nil
}

// notVerifiable notes of a destination that cannot be asked what is done where nobody knows.
func notVerifiable(described *v1alpha1.FeedDestination) func(*v1alpha1.FeedDestination) {
	said := metav1.Condition{
		Type: v1alpha1.ConditionVerifiable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoLookup, ObservedGeneration: described.Generation,
		Message: "A webhook cannot be asked what it has received. What may have arrived is sent again with the same key (onUncertain: Repeat)",
	}
	if webhook := described.Spec.Webhook; webhook != nil && !webhook.Repeats() {
		said.Message = "A webhook cannot be asked what it has received. What may have arrived is left to a person (onUncertain: Hold)"
	}
	return func(live *v1alpha1.FeedDestination) { meta.SetStatusCondition(&live.Status.Conditions, said) }
}

// usable reports whether how long posts may be, and whether they can be looked up, is known.
func (feedDestinations) usable(described *v1alpha1.FeedDestination, to *posting.Publisher, answered bool) bool {
	if !answered || described.Status.Server == nil {
		return false
	}
	to.Server = *described.Status.Server
	return true
}

func (feedDestinations) addCounts(described *v1alpha1.FeedDestination, calls services.Tally, fresh bool) {
	if !fresh {
		return
	}
	described.Status.Delivered = services.Sum(described.Status.Delivered, calls.Posts)
	described.Status.Duplicates = services.Sum(described.Status.Duplicates, calls.Duplicates)
	described.Status.LastDeliveryTime = services.TimeOrKeep(calls.LastPost, described.Status.LastDeliveryTime)
	if calls.EventsSent > 0 || calls.EventsDropped > 0 {
		before := ptr.Deref(described.Status.Events, v1alpha1.EventCounts{})
		described.Status.Events = &v1alpha1.EventCounts{
			Sent: services.Sum(before.Sent, calls.EventsSent), Dropped: services.Sum(before.Dropped, calls.EventsDropped),
		}
	}
}

func (feedDestinations) resume(*services.Services, schedule.Resource, *v1alpha1.FeedDestination) {}

func (feedDestinations) endedFor(described *v1alpha1.FeedDestination) string {
	return described.Status.EndedFor
}

func (feedDestinations) noteEnded(described *v1alpha1.FeedDestination, revision string) {
	described.Status.EndedFor = revision
}

func (feedDestinations) working(described *v1alpha1.FeedDestination) string {
	if server := described.Status.Server; server != nil && server.Account != "" {
		return "Posts as " + server.Account
	}
	webhook, sends := described.Spec.Webhook, "Sends"
	if described.Events() != nil {
		sends = "Sends events of items"
	}
	switch {
	case webhook == nil:
		return "Posts to " + described.Spec.Mastodon.Server
	case webhook.URLFrom != nil:
		return sends + " to the URL in Secret " + webhook.SecretRef.Name
	}
	if address, err := url.Parse(webhook.URL); err == nil { // its path may be a secret
		return sends + " to " + address.Host
	}
	return sends + " to its URL"
}
