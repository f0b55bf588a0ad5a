// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// FeedDestinationReconciler says whether a destination can be posted to, and opens it to those who
// wait for it.
type FeedDestinationReconciler struct {
	serviceReconciler[v1alpha1.FeedDestination, *v1alpha1.FeedDestination]
}

// DestinationFactory makes what posts to the account that a FeedDestination describes, with its
// credentials. An error says, for a person, what in the spec cannot work.
type DestinationFactory func(described *v1alpha1.FeedDestination, credentials string) (destination.Destination, error)

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeddestinations,verbs=get;list;watch
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeddestinations/status,verbs=patch

func newFeedDestinationReconciler(common serviceReconciler[v1alpha1.FeedDestination, *v1alpha1.FeedDestination],
	connect DestinationFactory,
) *FeedDestinationReconciler {
	r := &FeedDestinationReconciler{serviceReconciler: common}
	r.places, r.key = queue.DestinationCheckPlaces, queue.DestinationKey
	r.resource = schedule.Destination
	r.stage = v1alpha1.StageDeliver
	r.secretKey = secrets.KeyAccess
	r.limit = func(described *v1alpha1.FeedDestination) schedule.Limit {
		return schedule.Limit{Every: described.MinInterval(), Concurrent: described.MaxConcurrent()}
	}
	r.peer = func(described *v1alpha1.FeedDestination) any { return described.Spec.Mastodon.Server }
	r.connect = func(described *v1alpha1.FeedDestination, credentials string) (any, error) {
		composer, err := destination.NewComposer(derive.Style(described))
		if err != nil {
			return nil, err
		}
		caller, err := connect(described, credentials)
		if err != nil {
			return nil, err
		}
		return &posting.Publisher{Destination: caller, Composer: composer, Address: described.Spec.Mastodon.Server}, nil
	}
	r.check = checkDestination
	r.usable = func(described *v1alpha1.FeedDestination, caller any, answered bool) bool {
		to, ok := caller.(*posting.Publisher)
		if !ok || !answered || described.Status.Server == nil {
			return false // how long posts may be, and whether they can be looked up, must be known
		}
		to.Server = *described.Status.Server
		return true
	}
	r.counted = func(described *v1alpha1.FeedDestination, calls services.Tally) {
		described.Status.Delivered = services.Sum(described.Status.Delivered, calls.Posts)
		described.Status.LastDeliveryTime = services.TimeOrKeep(calls.LastPost, described.Status.LastDeliveryTime)
	}
	r.resume = func(schedule.Resource, *v1alpha1.FeedDestination) {}
	r.lastCall = func(described *v1alpha1.FeedDestination) time.Time {
		if last := described.Status.LastDeliveryTime; last != nil {
			return last.Time
		}
		return time.Time{}
	}
	r.working = func(described *v1alpha1.FeedDestination) string {
		if server := described.Status.Server; server != nil && server.Account != "" {
			return "Posts as " + server.Account
		}
		return "Posts to " + described.Spec.Mastodon.Server
	}
	r.transition = func(described *v1alpha1.FeedDestination, said conditions.Verdict) {
		telemetry.DestinationTransition(r.Recorder, described, said.Ready, said.Reason, said.Message)
	}
	r.retryRequested = func(described *v1alpha1.FeedDestination, items int) {
		telemetry.RetryRequested(r.Recorder, described, items)
	}
	return r
}

// checkDestination asks a destination about itself: whose account it is, how long posts may be, and
// whether the credentials allow to look at what was posted.
func checkDestination(ctx context.Context, described *v1alpha1.FeedDestination, caller any) (func(*v1alpha1.FeedDestination), error) {
	to, ok := caller.(*posting.Publisher)
	if !ok {
		return nil, fmt.Errorf("%T cannot be asked", caller)
	}
	asked, ok := to.Destination.(destination.Checker)
	if !ok {
		return nil, nil
	}
	account, err := asked.Check(ctx)
	if err != nil {
		return nil, err
	}
	server := v1alpha1.DestinationServer{
		Account: conditions.Cut(account.Handle, 512), Software: conditions.Cut(account.Software, 128),
		MaxCharacters: conditions.Bounded(account.Limits.MaxCharacters), CharactersPerURL: conditions.Bounded(account.Limits.CharactersPerURL),
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

// Reconcile tells the schedule how hard the destination may be asked, and the person whether it is ready.
func (r *FeedDestinationReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return r.reconcile(ctx, request)
}

// SetupWithManager registers the controller. It looks at a destination when its spec or its retry annotation changes, when
// its calls have changed how it stands, when it is to tell that its credentials are refused, and when it is time to read
// its Secret again.
func (r *FeedDestinationReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.FeedDestination{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, queue.AnnotationChanged(v1alpha1.AnnotationRetry), notices.CredentialsQueued))).
		WatchesRawSource(&r.Waker.Destinations).
		WithOptions(queue.Options(queue.LimitOfChecks)).
		Complete(r)
}
