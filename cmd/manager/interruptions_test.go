// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// Instants at which a manager is interrupted.
const (
	beforeTheClaim   = "killed before the claim"
	afterTheClaim    = "killed after the claim"
	killedInTheCall  = "killed during the call"
	afterTheCall     = "killed after the call"
	afterTheResult   = "killed after the result"
	stoppedInTheCall = "stopped during the call"
	frozenAfterClaim = "frozen after the claim"
	frozenInTheCall  = "frozen during the call"
)

// interruptions bring a newsroom's first manager to an instant in the life of the first item. Each
// returns when that manager is gone, or frozen: then with what wakes it.
var interruptions = map[string]func(*testing.T, *newsroom, *process) (wake func()){
	beforeTheClaim: func(t *testing.T, room *newsroom, first *process) func() {
		return killAt(t, room, first, room.proxy.holdWrite(v1alpha1.DeliveryIntent))
	},
	afterTheClaim: func(t *testing.T, room *newsroom, first *process) func() {
		return killAt(t, room, first, room.proxy.holdAnswer(v1alpha1.DeliveryIntent))
	},
	afterTheCall: func(t *testing.T, room *newsroom, first *process) func() {
		return killAt(t, room, first, room.proxy.holdWrite(v1alpha1.DeliveryDone))
	},
	afterTheResult: func(t *testing.T, room *newsroom, first *process) func() {
		return killAt(t, room, first, room.proxy.holdAnswer(v1alpha1.DeliveryDone))
	},
	killedInTheCall:  killInTheCall,
	stoppedInTheCall: stopInTheCall,
	frozenInTheCall:  freezeInTheCall,
	frozenAfterClaim: func(t *testing.T, room *newsroom, first *process) func() {
		// A claim that is a write of its own has no deadline: what keeps the manager from posting is
		// that it looks at the time.
		return freezeAtClaim(t, room, first, room.openLate)
	},
}

// freezeAtClaim freezes the manager while it waits for the answer to its claim, which is there when
// it wakes.
func freezeAtClaim(t *testing.T, room *newsroom, first *process, open func(*testing.T)) func() {
	t.Helper()
	answer := room.proxy.holdAnswer(v1alpha1.DeliveryIntent)
	open(t)
	answer.wait(t)
	first.signal(t, syscall.SIGSTOP)
	return func() {
		answer.release()
		first.signal(t, syscall.SIGCONT)
	}
}

func killAt(t *testing.T, room *newsroom, first *process, instant *trap) func() {
	t.Helper()
	room.open(t)
	instant.wait(t)
	first.end(t, syscall.SIGKILL)
	return nil
}

// killInTheCall kills the manager while the server has the post, which it publishes after that.
func killInTheCall(t *testing.T, room *newsroom, first *process) func() {
	t.Helper()
	call := room.holdCall(func(*mastodontest.Pending) bool { return false })
	room.open(t)
	call.wait(t)
	first.end(t, syscall.SIGKILL)
	call.goOn()
	if _, err := room.press.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return nil
}

// stopInTheCall tells the manager to stop while the server has the post and has not answered. What
// comes of the call is written down before the manager is gone.
func stopInTheCall(t *testing.T, room *newsroom, first *process) func() {
	t.Helper()
	call := room.holdCall(func(*mastodontest.Pending) bool { return false })
	room.open(t)
	call.wait(t)
	first.signal(t, syscall.SIGTERM)
	first.said.await(t, "Stopping and waiting for leader election runnables")
	call.goOn()
	if err := first.wait(t); err != nil {
		t.Errorf("a manager that was told to stop ended with %v", err)
	}
	if row := lifecycle.RowOf(room.item(t, 1), "press"); row.State != v1alpha1.DeliveryDone {
		t.Errorf("the manager is gone, and the delivery is %+v", row)
	}
	return nil
}

// freezeInTheCall freezes the manager while the server has the post, which it publishes without ever
// answering.
func freezeInTheCall(t *testing.T, room *newsroom, first *process) func() {
	t.Helper()
	call := room.holdCall(func(pending *mastodontest.Pending) bool {
		pending.Commit()
		pending.Hang()
		return true
	})
	room.open(t)
	call.wait(t)
	first.signal(t, syscall.SIGSTOP)
	call.goOn()
	if _, err := room.press.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return func() { first.signal(t, syscall.SIGCONT) }
}

// heldCall is the first request to post.
type heldCall struct{ asked, gate chan struct{} }

// holdCall holds the first request to post before it has any effect; then says how it goes on.
func (n *newsroom) holdCall(then func(*mastodontest.Pending) (answered bool)) *heldCall {
	call := &heldCall{asked: make(chan struct{}), gate: make(chan struct{})}
	var held atomic.Bool
	n.press.OnPost(func(pending *mastodontest.Pending) (answered bool) {
		if held.Swap(true) {
			return false
		}
		close(call.asked)
		select {
		case <-call.gate:
		case <-pending.Request.Context().Done():
		}
		return then(pending)
	})
	return call
}

func (c *heldCall) wait(t *testing.T) {
	t.Helper()
	select {
	case <-c.asked:
	case <-time.After(patience):
		t.Fatalf("waited %s in vain for a request to post", patience)
	}
}

func (c *heldCall) goOn() { close(c.gate) }
