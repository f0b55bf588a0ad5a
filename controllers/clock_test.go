// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// jumpingClock is the clock of a world. It jumps by minutes at once, while the operator hears of what is in
// the API server as late as ever: so it waits for that before it jumps. Otherwise the operator would act,
// at the new time, on what was so long before: older than it ever is where minutes really pass.
type jumpingClock struct {
	*clocktesting.FakeClock
	world *world
	// behind is how long before the present the operator was up to date last.
	behind atomic.Int64
}

// mayBeBehind is how old what the operator knows may be in a test: as where minutes really pass. To find out whether it is up to date takes
// longer than a short step.
const mayBeBehind = 2 * time.Second

// Step is that of the FakeClock, once the operator is up to date.
func (c *jumpingClock) Step(by time.Duration) {
	if behind := c.behind.Add(int64(by)); behind > int64(mayBeBehind) {
		c.world.untilUpToDate()
		c.behind.Store(min(int64(by), int64(mayBeBehind)))
	}
	c.FakeClock.Step(by)
}

// SetTime is that of the FakeClock, once the operator is up to date.
func (c *jumpingClock) SetTime(to time.Time) {
	c.world.untilUpToDate()
	c.FakeClock.SetTime(to)
}

// apiTime is the API server's time, which may be set while the timers of the machine run on.
type apiTime struct {
	*jumpingClock
	ahead *atomic.Int64
}

func (c apiTime) Now() time.Time                   { return c.jumpingClock.Now().Add(time.Duration(c.ahead.Load())) }
func (c apiTime) Since(at time.Time) time.Duration { return c.Now().Sub(at) }

// Passed is how much time has passed, by the machine's timers.
func (c apiTime) Passed() time.Duration { return c.jumpingClock.Now().Sub(time.Unix(0, 0)) }

// Ahead is how far it is ahead of the machine's clock.
func (c apiTime) Ahead() (time.Duration, bool) { return time.Duration(c.ahead.Load()), true }

// untilUpToDate waits until the operator, where it runs, knows of all that is in the API server now.
func (w *world) untilUpToDate() {
	w.t.Helper()
	if !w.runs.Load() {
		return
	}
	for _, kind := range []client.ObjectList{
		&v1alpha1.FeedSourceList{}, &v1alpha1.FeedItemList{}, &v1alpha1.AIProviderList{}, &v1alpha1.FeedDestinationList{},
	} {
		for _, namespace := range append([]string{w.namespace}, w.others...) {
			live := w.metadata(w.t.Context(), kind, namespace)
			apitest.Eventually(w.t, func(ctx context.Context) error {
				if err := w.manager.GetClient().List(ctx, kind, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
					return err
				}
				err := knows(kind, live)
				if err != nil { // what was live may be gone by now, and be known to be
					live = w.metadata(ctx, kind, namespace)
				}
				return err
			})
		}
	}
}

// stillness is how often in a row a test that lets time pass has looked and found that nothing goes on: that no call of a destination is under
// way, and that nothing was written since. A clock that goes on by how often the test has looked outruns, on a busy machine, what is being
// done: an intent is written, and its time is over before the request is made.
type stillness struct {
	looks  int
	before string
}

// look looks at the items of a source, and the destinations of its namespace, and returns how often nothing has gone on.
func (s *stillness) look(w *world, items []v1alpha1.FeedItem) int {
	w.t.Helper()
	now := strings.Builder{}
	for i := range items {
		now.WriteString(items[i].ResourceVersion + " ")
	}
	for _, destination := range w.metadata(w.t.Context(), &v1alpha1.FeedDestinationList{}, w.namespace).Items {
		now.WriteString(destination.ResourceVersion + " ")
	}
	if s.looks++; w.calls.Load() > 0 || now.String() != s.before {
		s.looks, s.before = 0, now.String()
	}
	return s.looks
}

// metadata lists what the API server holds of a kind.
func (w *world) metadata(ctx context.Context, kind client.ObjectList, namespace string) *metav1.PartialObjectMetadataList {
	w.t.Helper()
	gvk, err := apiutil.GVKForObject(kind, w.client.Scheme())
	if err != nil {
		w.t.Fatal(err)
	}
	live := &metav1.PartialObjectMetadataList{}
	live.SetGroupVersionKind(gvk)
	if err := w.client.List(ctx, live, client.InNamespace(namespace)); err != nil {
		w.t.Fatal(err)
	}
	return live
}

// knows checks that what is known is no older than what was live.
func knows(known client.ObjectList, live *metav1.PartialObjectMetadataList) error {
	versions := map[string]string{}
	if err := meta.EachListItem(known, func(object runtime.Object) error {
		accessor, err := meta.Accessor(object)
		if err == nil {
			versions[accessor.GetName()] = accessor.GetResourceVersion()
		}
		return err
	}); err != nil {
		return err
	}
	for i := range live.Items {
		name := live.Items[i].Name
		if versions[name] == "" {
			return fmt.Errorf("%s is not known", name)
		}
		if older, err := isOlder(versions[name], live.Items[i].ResourceVersion); err != nil || older {
			return errors.Join(err, fmt.Errorf("%s is not known as it is", name))
		}
		delete(versions, name)
	}
	for name, version := range versions { // gone, or made since
		if isNew, err := isOlder(live.ResourceVersion, version); err != nil || !isNew {
			return errors.Join(err, fmt.Errorf("%s is not known to be gone", name))
		}
	}
	return nil
}

// isOlder compares two resource versions.
func isOlder(version, other string) (bool, error) {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return order < 0, err
}
