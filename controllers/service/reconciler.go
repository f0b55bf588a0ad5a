// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/services"
)

// How often a service is looked at when nothing happens to it.
const (
	// secretCheckInterval is how often the Secret of a service is read that is closed for it (R3.8).
	secretCheckInterval = 30 * time.Second
	// rotationCheckInterval is how often the Secret is read of a service that works, for a key that was
	// replaced while the old one is still good.
	rotationCheckInterval = 5 * time.Minute
	// checkInterval is how often a service is asked about itself: a server may change its limits.
	checkInterval = time.Hour
	// longestCheckTimeout bounds one such question, so that those who hang do not hold up the others.
	longestCheckTimeout = 15 * time.Second
)

// Tools are what the reconcilers of both kinds work with.
type Tools struct {
	Clock    clock.PassiveClock
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
	Services *services.Services
	// Waker brings back the items that were given up for a service.
	Waker *queue.Waker
	// Notifier sends the notices that credentials are refused.
	Notifier *notices.Notifier
	// Recordable knows whether what comes of calls can be written down.
	Recordable *crdcheck.Checker
}

// Reconciler keeps one kind of services open or closed, and says on their status which and why. P is a pointer to the kind,
// and C what calls its services.
type Reconciler[T any, P notices.ServicePointer[T], C any] struct {
	Tools

	kind kind[P, C]
}

// SetupWithManager registers the controller. It looks at a service when its spec or its retry annotation changes, when
// its calls have changed how it stands, when it is to tell that its credentials are refused, and when it is time to read
// its Secret again.
func (r *Reconciler[T, P, C]) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(P(new(T)), builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, queue.AnnotationChanged(v1alpha1.AnnotationRetry), notices.CredentialsQueued))).
		WatchesRawSource(r.Waker.Door(string(r.kind.traits().kind))).
		WithOptions(r.Waker.Options(queue.WorkersFor(queue.LimitOfLooks))).
		Complete(queue.UntilStopped(r))
}

// checkResult is what one look at a service has come to.
type checkResult[P any] struct {
	// open is set if the service may be called; then its availability says the rest.
	open bool
	// parked is set if nothing is known yet: it is to be asked when its turn comes.
	parked    bool
	readiness conditions.Readiness
	// requeueAfter is when to look again by itself; zero for never.
	requeueAfter time.Duration
	// refused are the credentials that were refused, by their version, and refusal says how.
	refused string
	refusal *failure.Error
	// gone is the revision of a service that has ended for good.
	gone string
	// checkedFor is the peer that was checked, and answer notes the result.
	checkedFor string
	answer     func(P)
	// uncheckedPeer is a peer that could not be checked, and is called all the same.
	uncheckedPeer string
}

// Reconcile opens or closes a service, and writes down which and why. Where it has to be asked about itself and others
// have their turn first, all stays as it is until then.
func (r *Reconciler[T, P, C]) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	id := schedule.Resource{Kind: r.kind.traits().kind, Name: request.String()}
	turn := r.Services.Schedule.Enter(queue.Key(string(id.Kind), request.NamespacedName))
	defer turn.Leave()
	found := P(new(T))
	if err := r.Client.Get(ctx, request.NamespacedName, found); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Services.Forget(id)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !found.GetDeletionTimestamp().IsZero() {
		r.Services.MarkUnavailable(id, "", services.Unavailability{Because: "it is being deleted"})
		return ctrl.Result{}, nil
	}
	r.Services.Meet(id, found)
	if _, _, _, seen := r.Services.Lookup(id); !seen {
		if !r.mayLook(turn, found) {
			return ctrl.Result{}, nil
		}
		if err := r.restore(ctx, id, found); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if outdated := r.Recordable.Why(kindOf(found)); outdated != "" {
		r.Services.MarkUnavailable(id, "", services.Unavailability{Because: "its CustomResourceDefinition is older than the operator"})
		return ctrl.Result{}, client.IgnoreNotFound(r.updateStatus(ctx, id, found, checkResult[P]{
			readiness: conditions.Readiness{Reason: v1alpha1.ReasonCRDOutdated, Message: outdated, Stalled: true},
		}))
	}
	// Why it is not to be called now is forgotten once for each token: its cool-down, its quota, its circuit. What had been refused is asked
	// about again, with what there is now.
	if asked := (retry.Request{Token: retry.Token(found), Last: found.Service().LastHandledRetry}); asked.IsNew() {
		r.Services.Clear(id, asked.Token)
	}
	stands, err := r.evaluate(ctx, turn, id, found)
	if err != nil || stands.parked {
		return ctrl.Result{}, err
	}
	if err := r.updateStatus(ctx, id, found, stands); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	notice, err := r.sendNotices(ctx, turn, id, found)
	if err != nil {
		return ctrl.Result{}, err
	}
	now, again := r.Clock.Now(), time.Time{}
	if stands.requeueAfter > 0 {
		again = now.Add(stands.requeueAfter)
	}
	return ctrl.Result{RequeueAfter: queue.RequeueAt(now, queue.Earliest(again, notice)).RequeueAfter}, nil
}

// mayLook takes a place for what the API server is asked about a service, which it keeps to the end of the turn; without one the service is parked: those of a
// namespace for which the API server does not answer hold up no other's.
func (r *Reconciler[T, P, C]) mayLook(turn *schedule.Turn, found P) bool {
	rank := schedule.Rank{Name: found.GetName(), Owner: schedule.Owner{Tenant: found.GetNamespace()}}
	_, granted := turn.Acquire(rank, r.kind.traits().looks)
	if !granted {
		turn.KeepWaiting()
	}
	return granted
}

// restore takes over from the status what an operator before this one has learned.
func (r *Reconciler[T, P, C]) restore(ctx context.Context, id schedule.Resource, found P) error {
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(found), found); err != nil {
		return err
	}
	status := found.Service()
	r.kind.resume(r.Services, id, found)
	r.Services.Restore(id, found.GetUID(), status.CheckedFor, availabilityOf(status.Availability))
	if status.RefusedCredentials != "" && status.LastFailure != nil && status.ObservedGeneration == found.GetGeneration() {
		refused := failure.New(v1alpha1.CategoryAuth, failure.TypeCredentials, status.LastFailure.Message)
		why := services.Unavailability{Because: services.Clause(refused.Message), Refused: refused}
		r.Services.MarkUnavailable(id, services.Revision(found, status.RefusedCredentials), why)
	}
	if ended := r.kind.endedFor(found); ended != "" {
		r.Services.MarkUnavailable(id, ended, services.Unavailability{Because: services.Clause(conditions.Ready(status.Conditions).Message), Gone: true})
	}
	return nil
}

// evaluate finds out whether the service can be called, and opens or closes it.
func (r *Reconciler[T, P, C]) evaluate(ctx context.Context, turn *schedule.Turn, id schedule.Resource, found P) (checkResult[P], error) {
	if found.Suspended() {
		r.Services.MarkUnavailable(id, "", services.Unavailability{Because: "it is suspended"})
		return checkResult[P]{readiness: conditions.Readiness{
			Reason: v1alpha1.ReasonSuspended, Message: "Suspended: it is not called, and items that need it wait",
		}}, nil
	}
	if _, current, _, _ := r.Services.Lookup(id); !services.IsOf(current, found) { // nobody is to be called any more as it was before
		r.Services.Withhold(id)
	}
	if !r.mayLook(turn, found) {
		return checkResult[P]{parked: true}, nil
	}
	credentials, version, err := r.kind.credentials(ctx, r.Live, found)
	if unusable, ok := errors.AsType[*secrets.Unusable](err); ok {
		if stands, closed := r.staysClosedUnread(id, found, unusable); closed {
			return stands, nil
		}
		r.Services.MarkUnavailable(id, "", services.Unavailability{Because: unusable.Error()})
		return checkResult[P]{
			readiness:    conditions.Readiness{Reason: v1alpha1.ReasonCredentialsMissing, Message: unusable.Error(), Stalled: true},
			requeueAfter: secretCheckInterval,
		}, nil
	}
	if err != nil {
		return checkResult[P]{}, err
	}
	revision := services.Revision(found, version)
	caller, current, why, _ := r.Services.Lookup(id)
	same := current == revision
	if same && why != nil {
		if stands, closed := r.staysClosed(found, why, revision, version); closed {
			return stands, nil
		}
	}
	if same && caller != nil && !r.checkDue(id, found, version) {
		return checkResult[P]{open: true, requeueAfter: r.nextCheck(id, found)}, nil
	}
	if !same { // the credentials may be of another account
		r.Services.Withhold(id)
	}
	fresh, err := r.kind.connect(found, credentials)
	if err != nil {
		return r.configurationRefused(id, revision, err.Error()), nil
	}
	rank := schedule.Rank{Time: r.lastCheck(id, found, version), Name: found.GetName(), Owner: schedule.Owner{Tenant: found.GetNamespace()}}
	if _, mayAsk := turn.Acquire(rank, r.kind.traits().places); !mayAsk {
		// What is open stays so, and what its calls come to is written down meanwhile.
		return checkResult[P]{parked: !same || caller == nil, open: true, requeueAfter: r.nextCheck(id, found)}, nil
	}
	return r.runCheck(ctx, id, found, fresh, revision, version)
}

// staysClosedUnread is staysClosed for a service whose Secret may not be read: what was refused, or has ended for good, is not asked again for that.
func (r *Reconciler[T, P, C]) staysClosedUnread(id schedule.Resource, found P, unusable *secrets.Unusable) (stands checkResult[P], closed bool) {
	_, current, why, _ := r.Services.Lookup(id)
	if !unusable.Forbidden || why == nil || !services.IsOf(current, found) {
		return stands, false
	}
	return r.staysClosed(found, why, current, services.CredentialsIn(current, found))
}

// staysClosed reports for a service that is closed as it is described now whether it is not asked again yet, and how it stands.
func (r *Reconciler[T, P, C]) staysClosed(found P, why *services.Unavailability, revision, version string) (stands checkResult[P], closed bool) {
	switch now := r.Clock.Now(); {
	case why.Refused != nil:
		return refusedResult[P](why.Refused, version), true
	case why.Gone:
		stands = checkResult[P]{readiness: conditions.Readiness{Reason: v1alpha1.ReasonEndpointGone, Message: why.Because, Stalled: true}, gone: revision}
		if found.SecretRef() != nil { // it may be given another URL
			stands.requeueAfter = secretCheckInterval
		}
		return stands, true
	case why.Until.After(now) && believable.Coming(why.Until, now, services.RecheckInterval):
		return checkResult[P]{
			readiness:    conditions.Readiness{Reason: v1alpha1.ReasonConfigurationRefused, Message: why.Because, Stalled: true},
			requeueAfter: min(why.Until.Sub(now), secretCheckInterval), // the fault may be in the Secret
		}, true
	}
	return stands, false
}

// runCheck asks the service about itself, and opens or closes it by its answer.
func (r *Reconciler[T, P, C]) runCheck(ctx context.Context, id schedule.Resource, found P, caller C, revision, version string) (checkResult[P], error) {
	bounded, cancel := context.WithTimeout(ctx, min(found.Timeout(), longestCheckTimeout))
	defer cancel()
	answer, err := r.kind.check(bounded, found, caller)
	if ctx.Err() != nil {
		return checkResult[P]{}, ctx.Err()
	}
	failed := failure.Classify(err)
	switch {
	case failed == nil:
	case failed.Category == v1alpha1.CategoryAuth:
		r.Services.MarkUnavailable(id, revision, services.Unavailability{Because: services.Clause(failed.Error()), Refused: failed})
		return refusedResult[P](failed, version), nil
	case failed.Category == v1alpha1.CategoryValidation:
		return r.configurationRefused(id, revision, failed.Error()), nil
	case !r.kind.usable(found, caller, !r.lastCheck(id, found, version).IsZero()):
		r.Services.MarkUnavailable(id, revision, services.Unavailability{Because: "its check failed"})
		return checkResult[P]{
			readiness:    conditions.Readiness{Reason: v1alpha1.ReasonCheckFailed, Message: failed.Error(), Retrying: true},
			requeueAfter: secretCheckInterval,
		}, nil
	default: // whether it works, the next call will show
		ctrl.LoggerFrom(ctx).Info("Service check failed", "error", failed.Error())
	}
	if replaced, err := r.replaced(ctx, found); err != nil || replaced { // while it was asked: it is looked at again for that
		return checkResult[P]{parked: true}, err
	}
	limit, last := r.kind.pace(found)
	r.Services.MarkReady(id, caller, revision, r.peerOf(found, version), limit, last)
	stands := checkResult[P]{open: true, requeueAfter: r.nextCheck(id, found), answer: answer}
	if failed == nil {
		stands.checkedFor = r.peerOf(found, version)
		r.Services.NoteCheck(id, stands.checkedFor)
	} else {
		stands.requeueAfter, stands.uncheckedPeer = secretCheckInterval, r.peerOf(found, version)
	}
	return stands, nil
}

// replaced reports whether a service has another spec by now, or is another object.
func (r *Reconciler[T, P, C]) replaced(ctx context.Context, found P) (bool, error) {
	now := P(new(T))
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(found), now); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	return now.GetUID() != found.GetUID() || now.GetGeneration() != found.GetGeneration(), nil
}

func (r *Reconciler[T, P, C]) configurationRefused(id schedule.Resource, revision, message string) checkResult[P] {
	r.Services.MarkUnavailable(id, revision, services.Unavailability{Because: services.Clause(message), Until: r.Clock.Now().Add(services.RecheckInterval)})
	return checkResult[P]{
		readiness:    conditions.Readiness{Reason: v1alpha1.ReasonConfigurationRefused, Message: message, Stalled: true},
		requeueAfter: secretCheckInterval,
	}
}

func refusedResult[P any](refused *failure.Error, version string) checkResult[P] {
	return checkResult[P]{
		readiness: conditions.Readiness{
			Reason:  v1alpha1.ReasonCredentialsRefused,
			Message: services.Clause(refused.Error()) + ". The Secret is not used again until it is changed", Stalled: true,
		},
		requeueAfter: secretCheckInterval,
		refused:      version,
		refusal:      refused,
	}
}
