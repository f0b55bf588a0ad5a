// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posting

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// AfterError is when an object is looked at again after what was done could not be written down: what the API server refuses, it goes on
// refusing.
const AfterError = 10 * time.Second

// Work is what is under way at destinations, one thing at a time for each object and destination. It goes on after the reconcile that began
// it: no worker waits for a server, and no destination of an object for another one.
type Work struct {
	Background *queue.Background

	underWay sync.Map // of workKey
}

// workKey is an object and a destination of it.
type workKey struct{ uid, destination string }

func keyOf(of client.Object, destination string) workKey {
	return workKey{string(of.GetUID()), destination}
}

// UnderWay reports whether something is done for an object at a destination.
func (w *Work) UnderWay(of client.Object, destination string) bool {
	_, is := w.underWay.Load(keyOf(of, destination))
	return is
}

// Begin does something for an object at a destination, with all that the turn has granted its line. When it is done, that is given back, and
// requeue is called with when to look at the object again, as do has returned it. Begin returns false where something is under way already;
// then the line keeps what it has.
func (w *Work) Begin(ctx context.Context, turn *schedule.Turn, of client.Object, line *Line, do func(*Line) time.Duration,
	requeue func(after time.Duration),
) bool {
	key := keyOf(of, line.Destination)
	if _, is := w.underWay.LoadOrStore(key, true); is {
		return false
	}
	handed := line.HandOver(turn)
	w.Background.Run(func() {
		again := AfterError
		defer func() {
			if value := recover(); value != nil {
				panicked := failure.Panicked(value, debug.Stack())
				ctrl.LoggerFrom(ctx).Error(panicked, "Work at a destination panicked", "destination", handed.Destination, "stack", panicked.Stack)
			}
			handed.GiveBack()
			w.underWay.Delete(key)
			requeue(again)
		}()
		again = do(handed)
	})
	return true
}
