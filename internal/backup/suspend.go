// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

const (
	// patience is how long the operator may take to confirm that everything is suspended.
	patience = 2 * time.Minute
	// checkEvery is how often it is asked.
	checkEvery = time.Second
)

// Suspender has the operator stop its work on a namespace, so that a backup can be final.
type Suspender struct {
	Client    client.Client
	Namespace string
	// Clock is that of the machine where it is nil.
	Clock clock.Clock
	// Say tells a person what is waited for.
	Say func(text string)
}

// Suspend suspends all sources and destinations, notes on each that it was for a backup, and returns once nothing is under way any more: the operator has
// confirmed that nothing is posted, and what it may have begun before has ended.
func (s *Suspender) Suspend(ctx context.Context) error {
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	began := s.Clock.Now()
	var sources []v1alpha1.FeedSource
	var destinations []v1alpha1.FeedDestination
	for {
		if err := errors.Join(s.read(ctx, &sources, &destinations), s.suspendAll(ctx, sources, destinations)); err != nil {
			return err
		}
		waiting := unconfirmed(sources, destinations)
		if len(waiting) == 0 {
			break
		}
		if s.Clock.Since(began) > patience {
			return fmt.Errorf("the operator has not confirmed that it has stopped: %s. If it does not run, say --stopped in place of --suspend. "+
				"They stay suspended; the annotation %s says that this was for a backup", strings.Join(waiting, ", "), v1alpha1.AnnotationSuspendedForBackup)
		}
		if err := s.sleep(ctx, checkEvery); err != nil {
			return err
		}
	}
	// A call that was let go just before may be announced only now, and take its time.
	var longest time.Duration
	for i := range destinations {
		longest = max(longest, destinations[i].Timeout())
	}
	if len(destinations) > 0 {
		longest += lifecycle.SettleTime
		s.say(fmt.Sprintf("Everything is suspended. Waiting %s for what is under way", longest))
	}
	if err := s.sleep(ctx, longest); err != nil {
		return err
	}
	for {
		until, err := s.underWay(ctx, s.Clock.Now())
		if err != nil || until.IsZero() {
			return err
		}
		if err := s.sleep(ctx, until.Sub(s.Clock.Now())); err != nil {
			return err
		}
	}
}

// Resume undoes what Suspend has done, and returns how many objects go on.
func (s *Suspender) Resume(ctx context.Context) (resumed int, err error) {
	var sources []v1alpha1.FeedSource
	var destinations []v1alpha1.FeedDestination
	if err := s.read(ctx, &sources, &destinations); err != nil {
		return 0, err
	}
	var errs []error
	resume := func(object client.Object) {
		if object.GetAnnotations()[v1alpha1.AnnotationSuspendedForBackup] == "" {
			return
		}
		err := s.patch(ctx, object, `null`, false)
		if err == nil {
			resumed++
		}
		errs = append(errs, err)
	}
	for i := range destinations {
		resume(&destinations[i])
	}
	for i := range sources {
		resume(&sources[i])
	}
	return resumed, errors.Join(errs...)
}

func (s *Suspender) read(ctx context.Context, sources *[]v1alpha1.FeedSource, destinations *[]v1alpha1.FeedDestination) error {
	*sources, *destinations = nil, nil
	return errors.Join(list(ctx, s.Client, s.Namespace, "FeedSource", sources), list(ctx, s.Client, s.Namespace, "FeedDestination", destinations))
}

func (s *Suspender) suspendAll(ctx context.Context, sources []v1alpha1.FeedSource, destinations []v1alpha1.FeedDestination) error {
	var errs []error
	for i := range sources {
		if !sources[i].Spec.Suspend {
			errs = append(errs, s.patch(ctx, &sources[i], `"true"`, true))
		}
	}
	for i := range destinations {
		if !destinations[i].Spec.Suspend {
			errs = append(errs, s.patch(ctx, &destinations[i], `"true"`, true))
		}
	}
	return errors.Join(errs...)
}

func (s *Suspender) patch(ctx context.Context, object client.Object, annotation string, suspend bool) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}},"spec":{"suspend":%t}}`, v1alpha1.AnnotationSuspendedForBackup, annotation, suspend)
	return s.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// unconfirmed are those of which the operator does not say that they are suspended.
func unconfirmed(sources []v1alpha1.FeedSource, destinations []v1alpha1.FeedDestination) (names []string) {
	says := func(name string, generation, observed int64, conditions []metav1.Condition) {
		ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != v1alpha1.ReasonSuspended || observed != generation {
			names = append(names, name)
		}
	}
	for i := range sources {
		says("source/"+sources[i].Name, sources[i].Generation, sources[i].Status.ObservedGeneration, sources[i].Status.Conditions)
	}
	for i := range destinations {
		says("destination/"+destinations[i].Name, destinations[i].Generation, destinations[i].Status.ObservedGeneration, destinations[i].Status.Conditions)
	}
	return names
}

// underWay returns until when a request may be under way that was announced; zero where none is.
func (s *Suspender) underWay(ctx context.Context, now time.Time) (until time.Time, err error) {
	note := func(notAfter *metav1.Time) {
		if notAfter == nil {
			return
		}
		const mostAhead = time.Hour // no call takes longer: a later time is by a wrong clock
		if ends := notAfter.Add(lifecycle.SettleTime); ends.After(now) && ends.Before(now.Add(mostAhead)) && ends.After(until) {
			until = ends
		}
	}
	var items []v1alpha1.FeedItem
	if err := list(ctx, s.Client, s.Namespace, "FeedItem", &items); err != nil {
		return until, err
	}
	for i := range items {
		for j := range items[i].Status.Deliveries {
			if row := &items[i].Status.Deliveries[j]; lifecycle.Announced(row) {
				note(row.NotAfter)
			}
		}
	}
	var destinations []v1alpha1.FeedDestination
	if err := list(ctx, s.Client, s.Namespace, "FeedDestination", &destinations); err != nil {
		return until, err
	}
	for i := range destinations {
		for _, batch := range destinations[i].Status.Batches {
			if batch.InFlight {
				note(batch.NotAfter)
			}
		}
	}
	return until, nil
}

func (s *Suspender) say(text string) {
	if s.Say != nil {
		s.Say(text)
	}
}

func (s *Suspender) sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return ctx.Err()
	}
	timer := s.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
