// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// tally is what calls have come to since the status was written.
type tally struct {
	calls, tokens int64
	failures      map[v1alpha1.Category]int64
	lastFailure   *v1alpha1.Failure
	lastSuccess   time.Time
	// posts is how many posts of items are known to stand since, whichever call has shown that, and lastPost when the last was.
	posts    int64
	lastPost time.Time
	// today is what is to be written of the tokens of the day. It is not a count since, and not given back.
	today schedule.Tokens
}

// most is where the counters of a status stop. Up to 2^53 a number of JSON is the same for whoever reads it,
// and the API server takes no patch whose numbers are none of int64.
const most = 1e15

// sum adds to a counter of a status, whatever that has come to.
func sum(counter, added int64) int64 {
	return min(min(max(counter, 0), most)+min(max(added, 0), most), most)
}

func (t *tally) empty() bool { return t.calls == 0 && t.posts == 0 }

// count adds a call to the tally, and has it written.
func (s *services) count(id schedule.Resource, failed *failure.Error, stage v1alpha1.Stage, tokens int64, soon bool) {
	now := s.clock.Now()
	s.mu.Lock()
	found := s.find(id)
	t := &found.tally
	t.calls++
	t.tokens = sum(t.tokens, tokens)
	if failed == nil {
		t.lastSuccess = now
	} else {
		t.failures[failed.Category]++
		t.lastFailure = failure.Record(failed, stage, "", now)
	}
	write := s.toWrite(id, found, soon)
	s.mu.Unlock()
	write()
}

// posted counts a post of an item that stands now, and has that written.
func (s *services) posted(id schedule.Resource) {
	s.mu.Lock()
	found := s.find(id)
	found.tally.posts++
	found.tally.lastPost = s.clock.Now()
	write := s.toWrite(id, found, found.spaced)
	s.mu.Unlock()
	write()
}

// toWrite notes, under the lock, that a tally is to be written, and returns what sees to that.
func (s *services) toWrite(id schedule.Resource, found *service, soon bool) func() {
	wake, last := soon || !found.flushAhead, s.last
	found.flushAhead = true
	return func() {
		switch {
		case last != nil:
			last(id)
		case wake:
			s.changed(id, soon)
		}
	}
}

// stop has every tally written at once from now on, and returns the services that have one.
func (s *services) stop(last func(schedule.Resource)) []schedule.Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
	var ids []schedule.Resource
	for id, found := range s.known {
		if !found.tally.empty() {
			ids = append(ids, id)
		}
	}
	return ids
}

// take returns the tally of a service and begins a new one. Give it back if it cannot be written.
func (s *services) take(id schedule.Resource) tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	taken := found.tally
	taken.today = s.schedule.Tokens(id, s.last == nil)
	found.tally = tally{failures: map[v1alpha1.Category]int64{}}
	found.flushAhead = false
	return taken
}

// giveBack adds a tally that could not be written to what has come since.
func (s *services) giveBack(id schedule.Resource, taken tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.find(id).tally
	t.calls += taken.calls
	t.posts += taken.posts
	t.tokens = sum(t.tokens, taken.tokens)
	for category, count := range taken.failures {
		t.failures[category] += count
	}
	if t.lastFailure == nil {
		t.lastFailure = taken.lastFailure
	}
	if t.lastSuccess.IsZero() {
		t.lastSuccess = taken.lastSuccess
	}
	if t.lastPost.IsZero() {
		t.lastPost = taken.lastPost
	}
}

// lastFailure returns how a call last failed: since the status was written, or by the status.
func (s *services) lastFailure(id schedule.Resource, status *v1alpha1.ServiceStatus) *v1alpha1.Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.find(id).tally.lastFailure; last != nil {
		return last
	}
	return status.LastFailure
}

// addTo adds the tally to what the status holds.
func (t *tally) addTo(status *v1alpha1.ServiceStatus) {
	failures := maps.Clone(t.failures)
	for i := range status.Failures {
		counted := &status.Failures[i]
		counted.Count = sum(counted.Count, failures[counted.Category])
		delete(failures, counted.Category)
	}
	for _, category := range []v1alpha1.Category{
		v1alpha1.CategoryNetwork, v1alpha1.CategoryRateLimit, v1alpha1.CategoryAPI,
		v1alpha1.CategoryAuth, v1alpha1.CategoryValidation, v1alpha1.CategoryUnknown,
	} {
		if count := failures[category]; count > 0 {
			status.Failures = append(status.Failures, v1alpha1.CategoryCount{Category: category, Count: count})
		}
	}
	if t.lastFailure != nil {
		status.LastFailure = t.lastFailure
	}
}

func timeOrKeep(at time.Time, kept *metav1.Time) *metav1.Time {
	if at.IsZero() {
		return kept
	}
	return &metav1.Time{Time: at}
}

// lastWords writes the counters when the operator stops, also those of calls that end while it does.
type lastWords struct {
	services     *services
	providers    *AIProviderReconciler
	destinations *FeedDestinationReconciler
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (l *lastWords) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *lastWords) Start(ctx context.Context) error {
	<-ctx.Done()
	for _, id := range l.services.stop(func(id schedule.Resource) { l.write(ctx, id) }) {
		l.write(ctx, id)
	}
	return nil
}

func (l *lastWords) write(ctx context.Context, id schedule.Resource) {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	switch id.Kind {
	case schedule.KindProvider:
		l.providers.flush(ctx, id, queue.Named(id.Name))
	case schedule.KindDestination:
		l.destinations.flush(ctx, id, queue.Named(id.Name))
	case schedule.KindHost, schedule.KindNetwork, schedule.KindWork, schedule.KindWrites:
	}
}
