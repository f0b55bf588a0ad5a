// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package itemwrites watches what becomes of the writes of items, and says for which namespaces nothing is to be begun because it could not be
// written down, and who is to find out whether that is over. The rules are those of package writes.
//
// It knows names, errors and times. It must never know what is written.
package itemwrites

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/writes"
)

// Writes knows whether the API server takes what is written on items. While it does not, no call begins that costs money or
// that others can see, because what comes of it could not be written down (R3.14). One item at a time is let through to
// find out whether that is over: the schedule knows it as a resource with an open circuit.
type Writes struct {
	Clock    clock.PassiveClock
	Schedule *schedule.Schedule
	Recorder events.EventRecorder
	Log      logr.Logger
	// Self is the pod of the operator, which tells that nothing is taken; nil where there is none.
	Self *corev1.ObjectReference
	// Sources and Waker are for the sources of a namespace, which say that nothing is taken of their items.
	Sources client.Reader
	Waker   *queue.Waker

	mu    sync.Mutex
	judge writes.Judge
	why   map[string]string // the last refusal of each namespace of which nothing is taken
}

// reportHeldAfter is for how long nothing is taken of a namespace before its sources say so: what is over in a moment costs
// no writes.
const reportHeldAfter = time.Minute

// All and writesIn are what an item waits for while nothing is taken, or nothing of its namespace. At the first, the
// namespaces take turns: it may be that only one of them is refused.
var All = schedule.Resource{Kind: schedule.KindWrites}

// In is what is written in a namespace, for the schedule.
func In(namespace string) schedule.Resource {
	return schedule.Resource{Kind: schedule.KindWrites, Name: namespace}
}

// Held reports whether no call is to begin for an item of a namespace.
func (w *Writes) Held(namespace string) bool {
	_, held := w.HeldSince(namespace)
	return held
}

// HeldSince is since when nothing is begun in a namespace because it could not be written down.
func (w *Writes) HeldSince(namespace string) (since time.Time, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.judge.Held(namespace)
}

// Rank is the place of an item in the line of those who find out whether writes are taken again: who was refused longest ago
// comes first.
func (w *Writes) Rank(item *v1alpha1.FeedItem) schedule.Rank {
	w.mu.Lock()
	defer w.mu.Unlock()
	return schedule.Rank{
		Class: queue.ClassPending, Time: w.judge.LastRefused(item.Namespace, item.Name),
		Name: item.Namespace + "/" + item.Name, Owner: queue.ItemOwner(item),
	}
}

// Forget forgets an item on which there is nothing to write: it is gone, or rests, or waits for something else. It is no refused one that will find out
// whether writes are taken again.
func (w *Writes) Forget(ctx context.Context, item client.ObjectKey) {
	w.mayEnd(ctx, item, func(namespace, name string, now time.Time) writes.Change {
		_, held := w.judge.Server()
		return w.judge.Forget(namespace, name, held && w.Schedule.AwaitedBeside(All, queue.Key(queue.ItemKey, item)), now)
	})
}

// Ended notes what has become of a write.
func (w *Writes) Ended(ctx context.Context, item client.ObjectKey, err error) {
	switch {
	case err == nil:
		w.mayEnd(ctx, item, w.judge.Taken)
	case errors.Is(err, context.Canceled): // the manager is stopping, which says nothing
	case w.refused(item, err):
		w.wakeSources(ctx, item.Namespace, reportHeldAfter)
	}
}

// mayEnd has the judge note what may end a time in which nothing is taken, and has the sources of the namespace say so.
func (w *Writes) mayEnd(ctx context.Context, item client.ObjectKey, note func(namespace, name string, now time.Time) writes.Change) {
	w.mu.Lock()
	tell := w.ends(item, note(item.Namespace, item.Name, w.Clock.Now()))
	w.mu.Unlock()
	if tell {
		w.wakeSources(ctx, item.Namespace, 0)
	}
}

// ends notes, under the lock, what has ended, and returns whether the sources of the namespace are to say so.
func (w *Writes) ends(item client.ObjectKey, change writes.Change) (tell bool) {
	now := w.Clock.Now()
	ofNamespace, ofServer := now.Sub(change.NamespaceSince), now.Sub(change.ServerSince)
	if change.NamespaceEnded {
		delete(w.why, item.Namespace)
		tell = ofNamespace >= reportHeldAfter
		w.Schedule.SetAvailability(In(item.Namespace), schedule.Availability{})
	}
	if change.ServerEnded {
		for _, namespace := range w.judge.Namespaces() { // each finds out now
			until, _ := w.judge.Namespace(namespace)
			w.Schedule.SetAvailability(In(namespace), refusing(until))
		}
		w.Schedule.SetAvailability(All, schedule.Availability{})
	}
	if change.NextFinds {
		w.Schedule.SetAvailability(All, refusing(time.Time{}))
	}
	switch {
	case change.Continued:
	case change.ServerEnded:
		w.Log.Info("API server accepts writes again", "lasted", ofServer)
		telemetry.WritesBack(w.Recorder, w.Self, ofServer)
	case change.NamespaceEnded:
		w.Log.Info("API server accepts writes of the namespace again", "namespace", item.Namespace, "lasted", ofNamespace)
	}
	return tell
}

// refused notes a write that was refused, and returns whether a time has begun in which nothing is taken of its namespace.
func (w *Writes) refused(item client.ObjectKey, err error) (began bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change := w.judge.Refused(item.Namespace, item.Name, ExtentOf(err), w.Clock.Now())
	if _, held := w.judge.Namespace(item.Namespace); held {
		if w.why == nil {
			w.why = map[string]string{}
		}
		w.why[item.Namespace] = conditions.Cut(failure.Mask(err.Error()), conditions.MaxMessage)
	}
	w.putOff(item.Namespace)
	switch {
	case change.Continued:
	case change.ServerBegan:
		w.Log.Error(err, "API server refuses all writes: holding provider calls and posts, keeping results in memory")
		telemetry.WritesRefused(w.Recorder, w.Self)
	case change.NamespaceBegan:
		w.Log.Error(err, "API server refuses writes of the namespace: holding its provider calls and posts, keeping results in memory",
			"namespace", item.Namespace)
	}
	return change.NamespaceBegan
}

// putOff has the next one who finds out whether writes of a namespace are taken wait until that is worth a try, under the lock.
func (w *Writes) putOff(namespace string) {
	if until, held := w.judge.Namespace(namespace); held {
		w.Schedule.SetAvailability(In(namespace), refusing(until))
	}
	if until, held := w.judge.Server(); held {
		w.Schedule.SetAvailability(All, refusing(until))
	}
}

// Refusal is what the API server says of the items of a namespace, where it has taken nothing for a while; empty: it takes
// what is written.
func (w *Writes) Refusal(namespace string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, held := w.judge.Held(namespace)
	if !held || w.Clock.Now().Sub(since) < reportHeldAfter {
		return ""
	}
	return w.why[namespace]
}

// wakeSources has the sources of a namespace looked at.
func (w *Writes) wakeSources(ctx context.Context, namespace string, after time.Duration) {
	var sources v1alpha1.FeedSourceList
	if err := w.Sources.List(ctx, &sources, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		w.Log.Error(err, "Failed to list the sources to requeue", "namespace", namespace)
		return
	}
	for i := range sources.Items {
		w.Waker.Sources.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sources.Items[i])}, after)
	}
}

// refusing is the availability of what is tried once at a time, from then on.
func refusing(until time.Time) schedule.Availability {
	return schedule.Availability{State: schedule.StateCircuitOpen, Until: until, Failures: 1, Within: writes.LongestWait}
}

// ExtentOf returns what the refusal of a write may be about.
//
// A webhook or a policy may answer with any code: 400 is that of a webhook which names none, 422 that of a policy. So their words decide, before
// the code. Errors of etcd begin with "etcdserver:" (api/v3rpc/rpctypes).
func ExtentOf(err error) writes.Extent {
	var answer apierrors.APIStatus
	switch text := err.Error(); {
	case record.IsIncomplete(err):
		return writes.Object
	case record.Denied.MatchString(text): // whatever reason it gives: that of most policies is "Invalid"
		return writes.Namespace
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsGone(err),
		apierrors.IsAlreadyExists(err), apierrors.IsRequestEntityTooLargeError(err), strings.Contains(text, "etcdserver: request is too large"):
		return writes.Object
	case apierrors.IsForbidden(err):
		return writes.Namespace
	case strings.Contains(text, "etcdserver:"), apierrors.IsUnauthorized(err), apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err):
		return writes.Server
	case !errors.As(err, &answer) && !errors.Is(err, context.DeadlineExceeded): // there was no answer, and not for its being late
		return writes.Server
	}
	return writes.Unclear
}

// watchedClient is a client that tells what has become of the writes of items.
type watchedClient struct {
	client.Client
	writes *Writes
}

// Watch returns a client that writes as the given one does, and notes what becomes of it.
func Watch(through client.Client, writes *Writes) client.Client {
	return watchedClient{through, writes}
}

// Status implements client.StatusClient.
func (c watchedClient) Status() client.SubResourceWriter {
	return watchedStatus{c.Client.Status(), c.writes}
}

type watchedStatus struct {
	client.SubResourceWriter
	writes *Writes
}

// Patch implements client.SubResourceWriter.
func (s watchedStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	err := s.SubResourceWriter.Patch(ctx, object, patch, options...)
	if item := itemcache.AsItem(object); item != nil {
		s.writes.Ended(ctx, client.ObjectKeyFromObject(item), err)
	}
	return err
}

// Counts reports whether all is held, as 1 or 0, and how many namespaces are.
func (w *Writes) Counts() (server float64, namespaces int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, held := w.judge.Server(); held {
		server = 1
	}
	return server, len(w.judge.Namespaces())
}
