// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// peerOf names whom a service calls, and with which credentials. What was learned of one peer says
// nothing of another.
func (r *Reconciler[T, P, C]) peerOf(object P, credentials string) string {
	spec, err := json.Marshal(r.kind.peer(object))
	if err != nil {
		return "" // cannot be: it came as JSON
	}
	sum := sha256.Sum256(spec)
	return fmt.Sprintf("%s/%s/%s", object.GetUID(), hex.EncodeToString(sum[:8]), credentials)
}

// nextCheck is when an open service is to be looked at again.
func (r *Reconciler[T, P, C]) nextCheck(id schedule.Resource, found P) time.Duration {
	next := checkInterval
	if found.SecretRef() != nil {
		next = rotationCheckInterval
	}
	if until, spent := r.Services.Schedule.TokensSpent(id); spent {
		next = min(next, max(until.Sub(r.Clock.Now()), time.Second))
	}
	availability := r.Services.Schedule.Availability(id)
	if remaining := availability.Remaining(r.Clock.Now()); remaining >= services.LongPause || availability.State == schedule.StateCircuitOpen && remaining > 0 {
		next = min(next, remaining) // what the status says of it ends then
	}
	return next
}

// checkDue reports whether a service has not been asked about itself for long.
func (r *Reconciler[T, P, C]) checkDue(id schedule.Resource, found P, version string) bool {
	last := r.lastCheck(id, found, version)
	return found.SecretRef() != nil && (last.IsZero() || r.Clock.Now().Sub(last) >= checkInterval)
}

// lastCheck is when the peer of a service was last checked; zero for never, and for a time that cannot be.
func (r *Reconciler[T, P, C]) lastCheck(id schedule.Resource, found P, version string) time.Time {
	peer, now := r.peerOf(found, version), r.Clock.Now()
	last := r.Services.LastCheck(id, peer)
	if !believable.Past(last, now) {
		last = time.Time{}
	}
	written := found.Service().CheckedTime
	if written != nil && written.After(last) && believable.Past(written.Time, now) && found.Service().CheckedFor == peer {
		last = written.Time
	}
	return last
}
