// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/services"
)

// traits are what is the same for all services of a kind.
type traits struct {
	// kind is what the kind is called in the schedule, and places are where services of it are asked about themselves.
	kind   schedule.Kind
	places schedule.Resource
	// looks are where the API server is asked about them.
	looks schedule.Resource
	// stage is the part of the work on an item in which a service is called.
	stage v1alpha1.Stage
}

// kind is what the kinds of services do differently. P is the kind, and C what calls a service of it.
type kind[P v1alpha1.ServiceObject, C any] interface {
	traits() traits
	// pace is how hard a service may be asked, and when it was called last, as far as that depends on it.
	pace(object P) (limit schedule.Limit, last time.Time)
	// peer is the part of the spec that says who is called.
	peer(object P) any
	// credentials reads what a service is called with, and its version.
	credentials(ctx context.Context, live client.Reader, object P) (secrets.Values, string, error)
	// connect makes what calls a service. An error is for a person: the spec cannot work.
	connect(object P, credentials secrets.Values) (C, error)
	// check asks a service about itself; answer notes on the status what it says.
	check(ctx context.Context, object P, caller C) (answer func(P), err error)
	// usable says, of a service that could not be asked, whether it may be called all the same: by what
	// it has said before of this spec and these credentials, if it has.
	usable(object P, caller C, answered bool) bool
	// addCounts notes on the status what calls have come to; fresh means that this is not added yet.
	addCounts(object P, calls services.Tally, fresh bool)
	// resume takes over from the status what only this kind has learned before a restart.
	resume(known *services.Services, id schedule.Resource, object P)
	// endedFor is the revision with which a service said that it has ended for good, by its status; noteEnded notes it there.
	endedFor(object P) string
	noteEnded(object P, revision string)
	// working says in words what a service does when all is well.
	working(object P) string
}
