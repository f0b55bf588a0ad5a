// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shardlease

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/feed-operator/feed-operator/internal/shard"
)

const (
	// unwantedFor is how long a shard is kept that those did not take who held too few, as long as any of them is still there.
	unwantedFor = time.Minute
	// newFor is for how long a replica is too new for that: it may still take Leases for held that others have seen run out. A shard that was taken
	// because nobody else saw that it was free is given up to such a one after that time.
	newFor = Duration + shard.Unwanted
)

// Lock is the Lease of a shard, as the leader election of a manager takes and renews it. It lets the election go on only when this replica may
// take the Lease: nobody holds it, it is this replica's turn, and nobody holds a Lease of another number of shards.
//
// Between replicas that were started with different numbers of shards the order is: write, then look. Who has taken a Lease looks at all Leases
// before it acts, and gives it back at once where one of another number is held. Of two that write at the same time, at least one sees the
// other's; where both do, both give way and try again after a random time.
type Lock struct {
	*resourcelock.LeaseLock

	holder *Holder
	index  int

	// All of these are guarded by mu.
	mu sync.Mutex
	// stop stops the operator of the shard; nil while there is none.
	stop    context.CancelFunc
	givenUp bool
	// taking is set from the moment at which the Lease may be taken until that has succeeded or failed.
	taking bool
	// renewed is when the request was made that has last renewed the Lease; zero while it is not held.
	renewed time.Time
	// keptUntil is until when the shard is not given up for others to have it: those in leftBy did not want it.
	keptUntil time.Time
	leftBy    []string
}

func newLock(h *Holder, index int) *Lock {
	return &Lock{holder: h, index: index, LeaseLock: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: h.Namespace, Name: shard.LeaseName(index, h.Shards)},
		Client:     h.Leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: h.Replica, EventRecorder: h.Events},
	}}
}

// Get implements resourcelock.Interface. Where this replica does not hold the Lease, it returns when it may take it.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.holds() {
		record, raw, err := l.LeaseLock.Get(ctx)
		if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.holder.Replica {
			l.lose("another replica holds it: " + record.HolderIdentity)
		}
		return record, raw, err
	}
	var looked <-chan struct{} // closed when there has been a look since the last try
	for {
		version, next, mayTake := l.awaitTurn(ctx, looked)
		looked = next
		if !mayTake { // the operator stops; the election has nothing to complain of
			someone := resourcelock.LeaderElectionRecord{HolderIdentity: "another replica", LeaseDurationSeconds: int(Duration / time.Second)}
			return &someone, []byte(someone.HolderIdentity), nil
		}
		record, raw, err := l.LeaseLock.Get(ctx)
		switch {
		case apierrors.IsNotFound(err) && version == "":
			return nil, nil, err
		case err != nil:
			l.notTaken()
			return nil, nil, err
		case string(raw) != version: // somebody was quicker
			l.notTaken()
		default:
			record.HolderIdentity = "" // it has run out by what this replica has seen, which is more than the election has
			if record.LeaderTransitions >= math.MaxInt32 {
				record.LeaderTransitions = 0 // the election adds one, which the API server would refuse for ever
			}
			return record, raw, nil
		}
	}
}

// awaitTurn returns when the Lease may be taken that has a version, by another look than the last one where that is given; or false where the context
// ends first. The channel is closed when somebody has looked after that.
func (l *Lock) awaitTurn(ctx context.Context, looked <-chan struct{}) (version string, next <-chan struct{}, mayTake bool) {
	h := l.holder
	if looked != nil {
		select {
		case <-looked:
		case <-ctx.Done():
		}
	}
	for {
		h.mu.Lock()
		changed := h.changed
		if h.looked && ctx.Err() == nil {
			now := h.Clock()
			view := h.board.View(now)
			if holding := h.holding(); view.MayTake(h.Replica, l.index, holding) {
				l.mu.Lock()
				l.taking = true
				if holding >= view.Shares()[h.Replica] {
					l.keep(view, now)
				}
				l.mu.Unlock()
				h.mu.Unlock()
				return view.Versions[l.index], changed, true
			}
		}
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return "", nil, false
		}
	}
}

// keep has the shard not be given up at once to those who hold too few and have left it. The caller holds mu.
func (l *Lock) keep(view shard.View, now time.Time) {
	l.keptUntil, l.leftBy = time.Time{}, view.OthersShort(l.holder.Replica)
	for _, replica := range l.leftBy {
		until := view.Joined[replica].Add(newFor)
		if !until.After(now) {
			until = now.Add(unwantedFor)
		}
		if until.After(l.keptUntil) {
			l.keptUntil = until
		}
	}
}

// holding is how many shards this replica holds or is about to take.
func (h *Holder) holding() (n int) {
	for _, lock := range h.locks {
		lock.mu.Lock()
		if lock.taking || !lock.renewed.IsZero() && !lock.givenUp {
			n++
		}
		lock.mu.Unlock()
	}
	return n
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	asked := l.holder.Clock()
	return l.written(ctx, asked, true, l.LeaseLock.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	asked := l.holder.Clock()
	err := l.LeaseLock.Update(ctx, record)
	if record.HolderIdentity == "" { // it is given back
		if err == nil {
			l.notTaken()
		}
		return err
	}
	return l.written(ctx, asked, false, err)
}

// written is called when the Lease was taken or renewed. What was renewed too late may have been taken for free meanwhile by somebody who
// holds a Lease of another number of shards, and has no reason to change this one: so it is looked at anew. So is what had to be created, because
// somebody has deleted it: who starts just then sees nothing of it.
func (l *Lock) written(ctx context.Context, asked time.Time, created bool, err error) error {
	l.mu.Lock()
	renewed := l.renewed
	l.mu.Unlock()
	taken := renewed.IsZero()
	if err != nil {
		if taken {
			l.notTaken()
		}
		return err
	}
	if taken || created || asked.Sub(renewed) >= RenewDeadline {
		if rival, err := l.rival(ctx); err != nil || rival != "" {
			if err == nil {
				err = fmt.Errorf("the Lease %s was taken in the same moment", rival)
			}
			if taken {
				l.giveBack(ctx)
			} else {
				l.lose(err.Error())
			}
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taking, l.renewed = false, asked
	return nil
}

// rival looks for a Lease that is held of another number of shards.
func (l *Lock) rival(ctx context.Context) (string, error) {
	leases, err := l.holder.list(ctx)
	if err != nil {
		return "", err
	}
	l.holder.mu.Lock()
	defer l.holder.mu.Unlock()
	return l.holder.board.RivalIn(leases, l.holder.Clock()), nil
}

// giveBack gives a Lease back with which nothing was begun. Where that fails it runs out.
func (l *Lock) giveBack(ctx context.Context) {
	now := metav1.NewTime(l.holder.Clock())
	_ = l.LeaseLock.Update(ctx, resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now})
	l.notTaken()
}

func (l *Lock) notTaken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taking, l.renewed = false, time.Time{}
	l.keptUntil, l.leftBy = time.Time{}, nil
}

// lose has the process end.
func (l *Lock) lose(because string) {
	select {
	case l.holder.lost <- fmt.Errorf("shard %d of %d: %w: %s", l.index, l.holder.Shards, errLost, because):
	default: // it ends already
	}
}

// late is how long ago the Lease was renewed; 0 where it is not held.
func (l *Lock) late(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return 0
	}
	return now.Sub(l.renewed)
}

// begin is called with what stops the operator of the shard, before it starts.
func (l *Lock) begin(stop context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop, l.givenUp = stop, false
}

// end is called when the operator has stopped.
func (l *Lock) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop, l.givenUp, l.taking = nil, false, false
	l.renewed, l.keptUntil, l.leftBy = time.Time{}, time.Time{}, nil
}

// giveUp stops the operator of the shard, which gives the Lease back when it has finished what is under way.
func (l *Lock) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.givenUp = true
		l.stop()
	}
}

// holds reports whether this replica holds the Lease.
func (l *Lock) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.IsZero()
}

// works reports whether this replica works on the shard, and is not about to give it up.
func (l *Lock) works() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.IsZero() && !l.givenUp
}

// isKept reports whether the shard is not given up for others to have it: as long as one is there who did not want it, it would only go to and fro.
func (l *Lock) isKept(now time.Time, members []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.keptUntil) &&
		slices.ContainsFunc(l.leftBy, func(replica string) bool { return slices.Contains(members, replica) })
}
