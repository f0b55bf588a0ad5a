// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shardlease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/feed-operator/feed-operator/internal/shard"
)

// The times of all Leases, as controller-runtime has them by default.
const (
	// Duration is for how long a Lease is good that nobody renews.
	Duration = 15 * time.Second
	// longest is the most that is believed of how long a Lease is good. No version has ever asked for more than Duration; what says so all the same, by
	// a mistake, and is renewed by nobody, would keep all replicas waiting for years. It is more than Duration, for a later version to need more.
	longest = 4 * Duration
	// RenewDeadline is after how long a holder gives up that cannot renew its Lease.
	RenewDeadline = 10 * time.Second
	// RetryPeriod is how often a holder renews its Lease.
	RetryPeriod = 2 * time.Second
)

const (
	// lookInterval is how often a replica looks at all Leases. One that was given back is taken that soon.
	lookInterval = time.Second / 2
	// watchInterval is how often a replica looks whether it has renewed its Leases: it stops for certain before they run out.
	watchInterval = time.Second
	// memberInterval is how often a replica says that it is there.
	memberInterval = 4 * time.Second
	// requestTimeout bounds each request about Leases: one that hangs must not cost a Lease.
	requestTimeout = RenewDeadline / 2
	// rivalsMeet is for how long a Lease of another number of shards is seen before one gives way to it. Those of this version look before they act:
	// then it is held for a moment at most.
	rivalsMeet = RenewDeadline
)

// Operator works on one shard. A manager of controller-runtime is one.
type Operator interface {
	// Start works, as soon as the Lease is held by the lock that the Operator was made with, until the context ends; then it finishes what is under way,
	// gives the Lease back, and returns. An error means that it has lost its Lease, or could not finish.
	Start(ctx context.Context) error
}

// Holder runs the operators of the shards whose Leases this replica holds.
type Holder struct {
	// Leases are those of the namespace in which the operator has its Leases.
	Leases coordinationclient.LeasesGetter
	// Namespace is that namespace.
	Namespace string
	// Replica names this process among all that there ever are.
	Replica string
	// Shards is how many there are.
	Shards int
	// Events are told who has become the holder of a Lease; nil for nobody.
	Events resourcelock.EventRecorder
	// Log is told what changes.
	Log logr.Logger
	// Clock shows by how much time has passed what has run out. It goes on while the machine is suspended, and does not jump when somebody sets its clock.
	Clock func() time.Time
	// New makes the operator of a shard, which is to wait for its Lease by the lock. The context ends when that operator is to stop.
	New func(ctx context.Context, index int, lock resourcelock.Interface) (Operator, error)

	mu      sync.Mutex
	board   *shard.Board
	looked  bool
	changed chan struct{} // closed and replaced when there is something new on the board
	locks   []*Lock
	rivalry time.Time // since when a Lease is seen that is held of fewer shards while this replica holds some; zero for none
	failing bool      // the Leases cannot be read
	waitsOn string    // the Lease of another number of shards for which this replica waits, and has said so
	lost    chan error
}

// Run returns when the context ends and all operators have stopped, or at once when a Lease is lost: then the process must end.
func (h *Holder) Run(ctx context.Context) error {
	h.board = shard.NewBoard(h.Replica, h.Shards)
	h.changed, h.lost = make(chan struct{}), make(chan error, h.Shards+1)
	h.locks = make([]*Lock, h.Shards)
	for i := range h.locks {
		h.locks[i] = newLock(h, i)
	}
	var operators sync.WaitGroup
	operators.Go(func() { h.look(ctx) })
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	go h.watch(watching)
	for _, lock := range h.locks {
		operators.Go(func() {
			if err := h.keep(ctx, lock); err != nil {
				h.lost <- fmt.Errorf("shard %d of %d: %w", lock.index, h.Shards, err)
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		operators.Wait()
		close(ended)
	}()
	select {
	case err := <-h.lost:
		return err
	case <-ended:
	}
	select {
	case err := <-h.lost:
		return err
	default:
		return nil
	}
}

// keep runs an operator of a shard, and another one each time the shard was given up.
func (h *Holder) keep(ctx context.Context, lock *Lock) error {
	for ctx.Err() == nil {
		running, stop := context.WithCancel(ctx)
		operator, err := h.New(running, lock.index, lock)
		if err == nil {
			lock.begin(stop)
			err = operator.Start(running)
			lock.end()
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// watch ends the process when a Lease was not renewed for so long that it is about to run out. The election would do so too, but only after
// it has tried to give the Lease back, which takes its time where no answers come; and a process that was frozen would first try to renew it.
func (h *Holder) watch(ctx context.Context) {
	for {
		now := h.Clock()
		for _, lock := range h.locks {
			if late := lock.late(now); late > RenewDeadline+RetryPeriod {
				lock.lose(fmt.Sprintf("not renewed for %s", late.Round(time.Millisecond)))
			}
		}
		select {
		case <-time.After(watchInterval):
		case <-ctx.Done():
			return
		}
	}
}

// look keeps the board up to date, and does what follows from it, until the context ends.
func (h *Holder) look(ctx context.Context) {
	var said time.Time // when this replica has last said that it is there
	for ctx.Err() == nil {
		if now := h.Clock(); h.Shards > 1 && (said.IsZero() || now.Sub(said) >= memberInterval) {
			if err := h.sayHere(ctx, now); err == nil {
				said = now
			} else if ctx.Err() == nil {
				h.Log.V(1).Info("Failed to renew the Lease of this replica, will retry", "err", err.Error())
			}
		}
		h.lookOnce(ctx)
		select {
		case <-time.After(lookInterval):
		case <-ctx.Done():
		}
	}
	h.leave(context.WithoutCancel(ctx))
}

// lookOnce looks at all Leases once.
func (h *Holder) lookOnce(ctx context.Context) {
	leases, err := h.list(ctx)
	if err != nil {
		if !h.failing && ctx.Err() == nil {
			h.Log.Error(err, "Failed to read the Leases of the operator, will retry")
		}
		h.failing = true
		return
	}
	h.failing = false
	h.mu.Lock()
	now := h.Clock()
	h.board.Look(leases, now)
	h.looked = true
	close(h.changed)
	h.changed = make(chan struct{})
	h.giveUpSurplus(now)
	h.sayWaiting(now)
	forgotten := h.board.Forgotten(now)
	h.mu.Unlock()
	for _, name := range forgotten {
		if !h.forget(ctx, name) {
			return // one that hangs must not cost what a look is for
		}
	}
}

// giveUpSurplus has the operators stop of shards that others should have.
func (h *Holder) giveUpSurplus(now time.Time) {
	view := h.board.View(now)
	var held, wanted []int
	for _, lock := range h.locks {
		if !lock.works() {
			continue
		}
		held = append(held, lock.index)
		if !lock.isKept(now, view.Members) {
			wanted = append(wanted, lock.index)
		}
	}
	surplus, because := view.Surplus(h.Replica, wanted), "other replicas hold less"
	switch {
	case len(held) == 0 || !view.FewerShards:
		h.rivalry = time.Time{}
	case h.rivalry.IsZero():
		h.rivalry = now
	case now.Sub(h.rivalry) >= rivalsMeet:
		surplus, because = held, "the Lease "+view.Rival+" is held of fewer shards"
	}
	for _, index := range surplus {
		h.Log.Info("Shard given up", "shard", fmt.Sprintf("%d of %d", index, h.Shards), "because", because)
		h.locks[index].giveUp()
	}
}

// sayWaiting says for whom this replica does nothing: when a rollout hangs, or somebody else uses the operator's names, nothing else tells a person.
func (h *Holder) sayWaiting(now time.Time) {
	rival := h.board.View(now).Rival
	if rival != "" && h.waitsOn == "" && h.holding() == 0 {
		h.waitsOn = rival
		h.Log.Info("Shards are waited for", "shards", h.Shards, "lease", rival, "holder", h.board.Holder(rival))
	}
	if rival == "" {
		h.waitsOn = ""
	}
}

// list reads all Leases there are. Where one is held of which this replica does not know yet, it is in there: the answer is not from a cache.
func (h *Holder) list(ctx context.Context) ([]shard.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := h.Leases.Leases(h.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var leases []shard.Lease
	for i := range list.Items {
		lease, err := asLease(&list.Items[i])
		if err != nil {
			return nil, err
		}
		leases = append(leases, lease)
	}
	return leases, nil
}

func asLease(object *coordinationv1.Lease) (shard.Lease, error) {
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&object.Spec)
	version, err := json.Marshal(record)
	return shard.Lease{
		Name: object.Name, Holder: record.HolderIdentity, Version: string(version),
		Duration: min(time.Duration(record.LeaseDurationSeconds)*time.Second, longest),
	}, err
}

// sayHere renews the Lease by which this replica says that it is there.
func (h *Holder) sayHere(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name, leases := shard.MemberName(h.Replica, h.Shards), h.Leases.Leases(h.Namespace)
	spec := resourcelock.LeaderElectionRecordToLeaseSpec(&resourcelock.LeaderElectionRecord{
		HolderIdentity: h.Replica, LeaseDurationSeconds: int(Duration / time.Second),
		AcquireTime: metav1.NewTime(now), RenewTime: metav1.NewTime(now),
	})
	found, err := leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: h.Namespace}, Spec: spec}, metav1.CreateOptions{})
	case err == nil:
		found.Spec = spec
		_, err = leases.Update(ctx, found, metav1.UpdateOptions{})
	}
	return err
}

// leave says that this replica is not there any more. The others count on what it gives up from then on.
func (h *Holder) leave(ctx context.Context) {
	if h.Shards <= 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := h.Leases.Leases(h.Namespace).Delete(ctx, shard.MemberName(h.Replica, h.Shards), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		h.Log.Error(err, "Failed to remove the Lease of this replica: it runs out")
	}
}

// forget removes a Lease that has run out long ago, if it is still as it was. It returns false if the API server could not say.
func (h *Holder) forget(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	leases := h.Leases.Leases(h.Namespace)
	found, err := leases.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		var lease shard.Lease
		if lease, err = asLease(found); err == nil && h.knows(lease) {
			err = leases.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
				UID: &found.UID, ResourceVersion: &found.ResourceVersion,
			}})
		}
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		h.Log.V(1).Info("Failed to remove a Lease that has run out, will retry", "lease", name, "err", err.Error())
		return false
	}
	return true
}

// knows reports whether a Lease is as it was when it was last looked at.
func (h *Holder) knows(lease shard.Lease) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.board.Knows(lease)
}

// Holding is which of the shards this replica holds; nil while a Lease of another number of shards is held, and before the Leases were read: then
// there are no such shards yet.
func (h *Holder) Holding() []bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.looked || h.board.View(h.Clock()).Rival != "" {
		return nil
	}
	holding := make([]bool, h.Shards)
	for i, lock := range h.locks {
		holding[i] = lock.holds()
	}
	return holding
}

// errLost is why the process ends.
var errLost = errors.New("the lease was lost")
