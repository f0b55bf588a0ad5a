// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// readinessOf reports for a service that may be called how it stands.
func (r *Reconciler[T, P, C]) readinessOf(id schedule.Resource, found P, availability schedule.Availability) conditions.Readiness {
	if midnight, spent := r.Services.Schedule.TokensSpent(id); spent && !availability.Until.After(midnight) { // else it is not called for longer
		return conditions.Readiness{
			Retrying: true,
			Reason:   v1alpha1.ReasonTokensPerDaySpent,
			Message: fmt.Sprintf("spec.tokensPerDay is used up: too few tokens are left today for another call; paused until %s (midnight UTC), "+
				"or until it is raised", midnight.UTC().Format(time.RFC3339)),
		}
	}
	remaining := availability.Remaining(r.Clock.Now())
	if availability.State != schedule.StateCircuitOpen && remaining < services.LongPause {
		return conditions.Readiness{Ready: true, Reason: v1alpha1.ReasonSucceeded, Message: r.kind.working(found)}
	}
	because := ""
	if last := r.Services.LastFailure(id, found.Service()); last != nil {
		because = ": " + services.Clause(last.Message)
	}
	until := wholeSecond(availability.Until).UTC().Format(time.RFC3339)
	said := conditions.Readiness{Retrying: true}
	switch availability.State {
	case schedule.StateQuotaSpent:
		said.Reason, said.Message = v1alpha1.ReasonQuotaSpent, fmt.Sprintf("Quota spent; paused until %s%s", until, because)
	case schedule.StateCircuitOpen:
		said.Reason = v1alpha1.ReasonCircuitOpen
		said.Message = fmt.Sprintf("Circuit open after %d failures in a row; paused until %s, then probed%s", availability.Failures, until, because)
		if remaining == 0 {
			said.Message = fmt.Sprintf("Circuit open after %d failures in a row; probed with the next item%s", availability.Failures, because)
		}
	case schedule.StateCoolingDown, schedule.StateReady, schedule.StateDown:
		said.Reason, said.Message = v1alpha1.ReasonCoolingDown, fmt.Sprintf("Rate limited; paused until %s%s", until, because)
	}
	return said
}

// updateStatus writes what a look has come to, with what calls have come to since the last time.
func (r *Reconciler[T, P, C]) updateStatus(ctx context.Context, id schedule.Resource, found P, stands checkResult[P]) error {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	calls := r.Services.TallyToWrite(id)
	now := r.Clock.Now()
	before := conditions.Ready(found.Service().Conditions)
	generation := found.GetGeneration()
	var givenUp time.Time
	var items []types.NamespacedName
	var err error
	if stands.open {
		givenUp, items, err = itemcache.GivenUpFor(ctx, r.Client, id)
	}
	asked := retry.Request{Token: retry.Token(found), Last: found.Service().LastHandledRetry}
	if err == nil && asked.IsNew() {
		err = asked.Concern(ctx, r.Client, found)
	}
	if err != nil {
		return err
	}
	// What the conditions say of a service that is open follows from the availability that is written with them.
	said, availability := stands.readiness, r.Services.Availability(id)
	err = record.Write[T, P](ctx, r.Client, r.Live, found, func(live P) bool {
		status := live.Service()
		if stands.checkedFor != "" {
			status.CheckedTime, status.CheckedFor = &metav1.Time{Time: now}, conditions.Cut(stands.checkedFor, 256)
		}
		if peer := conditions.Cut(stands.uncheckedPeer, 256); peer != "" && status.CheckedFor != peer {
			status.CheckedTime, status.CheckedFor = nil, peer // what its calls come to is of that one
		}
		if stands.answer != nil {
			stands.answer(live)
		}
		r.kind.addCounts(live, calls, calls.AddTo(status))
		r.recordCredentials(id, status, stands, givenUp, now)
		asked.Note(live, &status.LastHandledRetry, &status.RetryRequestedTime, now)
		if stands.open {
			said = r.readinessOf(id, live, availability)
		}
		r.kind.noteEnded(live, conditions.Cut(stands.gone, 256))
		status.ObservedGeneration = generation
		conditions.SetReady(&status.Conditions, generation, said, now)
		status.Availability = availabilityStatus(availability)
		return true
	})
	if client.IgnoreNotFound(err) == nil { // what was called is counted, or gone
		r.Services.TallyWritten(id, calls)
	}
	if err != nil {
		return err
	}
	r.Services.Schedule.TokensWritten(id, calls.Today)
	if after := conditions.Ready(found.Service().Conditions); after.Status != before.Status || after.Reason != before.Reason {
		telemetry.ServiceTransition(r.Recorder, found, said.Ready, said.Reason, said.Message)
	}
	if asked.Noted {
		telemetry.RetryRequested(r.Recorder, found, asked.Items)
		ctrl.LoggerFrom(ctx).Info("Retry requested", "items", asked.Items)
	}
	// Most are woken by the time that was written just now; one that was given up while it was
	// written has nobody else.
	for _, item := range items {
		r.Waker.ItemLater(item, 0)
	}
	return nil
}

// recordCredentials notes credentials that were refused, and when they were replaced: whenever the
// service is open while items are given up for it that were not retried since.
func (r *Reconciler[T, P, C]) recordCredentials(id schedule.Resource, status *v1alpha1.ServiceStatus, stands checkResult[P], givenUp, now time.Time) {
	// A call may have been refused since the look, and an item have queued the notices of that.
	if _, _, why, _ := r.Services.Lookup(id); stands.open && (why == nil || why.Refused == nil) {
		lifecycle.DropCredentialsNotices(status)
	}
	switch {
	case stands.refused != "":
		if status.RefusedCredentials != stands.refused || status.LastFailure == nil {
			status.LastFailure = failure.Record(stands.refusal, r.kind.traits().stage, "", now)
		}
		status.RefusedCredentials = stands.refused
	case !stands.open:
	case status.RefusedCredentials != "", !givenUp.IsZero() && !believable.TimeOf(status.CredentialsRestored()).After(givenUp):
		status.RefusedCredentials = ""
		status.CredentialsRestoredTime = lifecycle.AfterFailures(status.CredentialsRestoredTime, givenUp, now)
	}
}

// flush writes the counters of a service that is not looked at any more because the operator stops.
func (r *Reconciler[T, P, C]) flush(ctx context.Context, id schedule.Resource, key client.ObjectKey) error {
	calls := r.Services.TallyToWrite(id)
	found := P(new(T))
	err := r.Live.Get(ctx, key, found)
	if err == nil {
		err = record.Write[T, P](ctx, r.Client, r.Live, found, func(live P) bool {
			live.Service().Availability = availabilityStatus(r.Services.Availability(id))
			r.kind.addCounts(live, calls, calls.AddTo(live.Service()))
			return true
		})
	}
	if err == nil {
		r.Services.TallyWritten(id, calls)
	}
	if err = client.IgnoreNotFound(err); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to update counters", "service", key)
	}
	return err
}

// availabilityOf is the availability that a status holds.
func availabilityOf(held *v1alpha1.Availability) schedule.Availability {
	if held == nil || services.OwnQuota(held) {
		return schedule.Availability{}
	}
	switch schedule.State(held.State) {
	case schedule.StateReady, schedule.StateCoolingDown, schedule.StateQuotaSpent, schedule.StateCircuitOpen:
	default: // of a version that has other states: what the calls come to will show
		return schedule.Availability{}
	}
	until := ptr.Deref(held.Until, metav1.Time{}).Time
	return schedule.Availability{State: schedule.State(held.State), Until: until, Failures: int(held.Failures)}
}

// availabilityStatus is an availability as a status holds it.
func availabilityStatus(known schedule.Availability) *v1alpha1.Availability {
	state := v1alpha1.AvailabilityState(cmp.Or(known.State, schedule.StateReady))
	held := &v1alpha1.Availability{State: state, Failures: conditions.Bounded(known.Failures)}
	if !known.Until.IsZero() {
		held.Until = &metav1.Time{Time: wholeSecond(known.Until)}
	}
	return held
}

// wholeSecond is a time as the API keeps it, never earlier than it is.
func wholeSecond(at time.Time) time.Time { return at.Add(time.Second - 1).Truncate(time.Second) }
