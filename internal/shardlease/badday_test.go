// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shardlease

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/shard"
)

// kept is a replica that is started again whenever it ends by itself, as the kubelet does it.
type kept struct {
	town   *town
	name   string
	shards int
	fault  func(verb string) fault

	mu      sync.Mutex
	running *member
	starts  int
	over    bool
	ended   chan struct{}
}

// keep keeps a replica.
func (w *town) keep(name string, shards int, wrong func(verb string) fault) *kept {
	k := &kept{town: w, name: name, shards: shards, fault: wrong, ended: make(chan struct{})}
	go func() {
		defer close(k.ended)
		for k.run() {
			time.Sleep(time.Second)
		}
	}()
	return k
}

func (k *kept) run() bool {
	k.mu.Lock()
	if k.over {
		k.mu.Unlock()
		return false
	}
	k.starts++
	m := k.town.start(fmt.Sprintf("%s-%d", k.name, k.starts), k.shards, 0, func(a *access) { a.setFault(k.fault) })
	k.running = m
	k.mu.Unlock()
	k.town.t.Logf("%s, start %d, has ended: %v", k.name, k.starts, <-m.ended)
	m.access.setCut(true) // what it would still write, a process does not that has ended
	m.stop()
	return true
}

// heal has nothing be wrong any more.
func (k *kept) heal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fault = nil
	k.running.access.setFault(nil)
}

func (k *kept) began() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.starts
}

// end has the replica end, and not come back.
func (k *kept) end() {
	k.mu.Lock()
	k.over = true
	k.running.stop()
	k.mu.Unlock()
	<-k.ended
}

// everyOther has every second write refused, each with the next reason.
func everyOther() func(verb string) fault {
	var mu sync.Mutex
	writes := 0
	return func(verb string) fault {
		mu.Lock()
		defer mu.Unlock()
		if verb == "get" || verb == "list" {
			return fault{}
		}
		writes++
		if writes%2 == 0 {
			return fault{}
		}
		return fault{refused: []error{
			apierrors.NewConflict(leasesResource, "lease", errors.New("it has changed")),
			apierrors.NewTooManyRequests("later", 1),
			apierrors.NewInternalError(errors.New("etcdserver: leader changed")),
			apierrors.NewGenericServerResponse(http.StatusGatewayTimeout, verb, leasesResource, "lease", "", 1, true),
		}[writes/2%4]}
	}
}

// badDays are what may be wrong with the API server.
var badDays = map[string]func() func(verb string) fault{
	"every other write is refused": everyOther,
	"writes take 4.5 seconds": func() func(string) fault {
		return func(verb string) fault {
			if verb == "get" || verb == "list" {
				return fault{}
			}
			return fault{takes: 4500 * time.Millisecond}
		}
	},
	"every third request is lost, or its answer": func() func(string) fault {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(7, 0))
		return func(string) fault {
			mu.Lock()
			defer mu.Unlock()
			late := time.Duration(random.Int64N(int64(time.Second)))
			switch random.IntN(6) {
			case 0:
				return fault{takes: late, lost: errors.New("the connection broke")}
			case 1:
				return fault{takes: late, refused: errors.New("no connection")}
			default:
				return fault{takes: late}
			}
		}
	},
}

// longestUnheld notes until it is stopped for how long a namespace has nobody who works on it: it is in shard 0 of each number.
func (w *town) longestUnheld() (stop func() time.Duration) {
	over, ended := make(chan struct{}), make(chan time.Duration)
	go func() {
		since, longest := time.Now(), time.Duration(0)
		for {
			held := false
			w.mu.Lock()
			for lease := range w.acting {
				if index, _, is := shard.ParseLeaseName(lease); is && index == 0 {
					held = true
				}
			}
			w.mu.Unlock()
			if held {
				since = time.Now()
			}
			longest = max(longest, time.Since(since))
			select {
			case <-time.After(50 * time.Millisecond):
			case <-over:
				ended <- longest
				return
			}
		}
	}()
	return func() time.Duration {
		close(over)
		return <-ended
	}
}

// R6.3: whatever the API server does to requests about Leases, never do two work on the same namespaces, nobody is without a worker for long, and when it is
// well again, shards are spread evenly. Meanwhile the number of shards changes from 1 to 4 and back.
func TestTheAPIServerHasABadDay(t *testing.T) {
	for name, day := range badDays {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(w *town) {
				var all []*kept
				a, b := w.keep("a", 1, day()), w.keep("b", 1, day())
				unheld := w.longestUnheld()
				for _, shards := range []int{4, 1, 4} {
					time.Sleep(2 * time.Minute)
					c := w.keep(fmt.Sprint("c-of-", shards), shards, day())
					time.Sleep(20 * time.Second)
					a.end()
					d := w.keep(fmt.Sprint("d-of-", shards), shards, day())
					time.Sleep(20 * time.Second)
					b.end()
					all = append(all, a, b)
					a, b = c, d
				}
				time.Sleep(time.Minute)
				longest := unheld()
				a.heal()
				b.heal()
				// Just before that, or just after, one may have taken what the other could not, and keeps that for a minute.
				w.within(time.Minute+2*shard.Unwanted, 2, 2)
				starts := 0
				for _, k := range append(all, a, b) {
					starts += k.began()
				}
				t.Logf("a namespace had nobody for %s at the longest; %d replicas have been started %d times", longest, len(all)+2, starts)
				if most := 2 * time.Minute; longest > most {
					t.Errorf("a namespace had nobody who works on it for %s", longest)
				}
				a.end()
				b.end()
			})
		})
	}
}

// R6.3: Leases that somebody deletes while they are held are made anew by those who hold them. Nobody else takes them for free, and nobody ends.
func TestLeasesThatSomebodyDeletesAreMadeAnew(t *testing.T) {
	for name, deleted := range map[string]func(name string) bool{
		"one": func(name string) bool { return name == shard.LeaseName(2, 4) },
		"all": func(string) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(w *town) {
				a, b := w.start("a", 4, 0), w.start("b", 4, 0)
				w.within(20*time.Second, 2, 2)
				other := w.start("other", 2, 0)
				time.Sleep(20 * time.Second)
				for range portion.Of(20, 6) {
					w.store.deleteAll(deleted)
					time.Sleep(3*time.Second + 70*time.Millisecond)
					w.within(0, 2, 2)
				}
				a.end(t)
				b.end(t)
				w.within(Duration+5*time.Second, 2)
				other.end(t)
			})
		})
	}
}

// R6.3: who starts with another number of shards just after somebody has deleted all Leases sees none that is held. Whoever held them sees what was taken
// meanwhile, when it makes its own anew, and ends.
func TestWhoMakesItsLeaseAnewLooksForOthers(t *testing.T) {
	inTown(t, func(w *town) {
		a := w.start("a", 1, 0)
		w.within(2*time.Second, 1)
		var once sync.Once
		began := make(chan *member, 1)
		a.access.mu.Lock()
		a.access.before = func(verb, _ string) {
			if verb == "create" {
				once.Do(func() {
					began <- w.start("b", 4, 0)
					time.Sleep(500 * time.Millisecond)
				})
			}
		}
		a.access.mu.Unlock()
		w.store.deleteAll(func(string) bool { return true })
		select {
		case err := <-a.ended:
			if !errors.Is(err, errLost) {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(rivalsMeet / 2):
			t.Error("it works on, beside others")
		}
		a.stop()
		w.overlaps = slices.DeleteFunc(w.overlaps, func(string) bool { return true }) // until it looks, nobody knows of the other one
		b := <-began
		w.within(Duration, 4)
		b.end(t)
	})
}

// R6.3: who has taken a Lease without hearing of it, because the answer is lost, takes it again at once, and does not wait for itself.
func TestWhoseAnswerIsLostTakesItsLeaseAgain(t *testing.T) {
	inTown(t, func(w *town) {
		var mu sync.Mutex
		lost := 0
		m := w.start("a", 4, 0, func(a *access) {
			a.setFault(func(verb string) fault {
				mu.Lock()
				defer mu.Unlock()
				if verb != "create" || lost == 5 { // its own, by which it says that it is there, and those of the shards
					return fault{}
				}
				lost++
				return fault{lost: errors.New("the connection broke")}
			})
		})
		w.within(5*time.Second, 4)
		m.end(t)
	})
}

// R6.3: a Lease that was free a moment ago, and that another replica has taken since, stays with that one.
func TestWhoIsSlowerLeavesALeaseAlone(t *testing.T) {
	inTown(t, func(w *town) {
		const name = "feed-operator-leader"
		var once sync.Once
		slow := w.start("slow", 1, 0, before(func(verb, of string) {
			if verb != "get" || of != name {
				return
			}
			once.Do(func() { // it has seen that it is free, and comes to take it
				lease := &coordinationv1.Lease{}
				lease.Name = name
				lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("quick"), new(int32(Duration/time.Second))
				w.store.mu.Lock()
				defer w.store.mu.Unlock()
				w.store.put(lease)
				w.begin(name, "quick")
			})
		}))
		time.Sleep(Duration - time.Second)
		w.end(name, "quick")
		w.within(5*time.Second, 1)
		slow.end(t)
	})
}

// R6.3: who has been frozen so long that its Lease might have been taken for free finds it as it was, renews it, and looks for others: it ends where there are any.
func TestWhoRenewsItsLeaseTooLateLooksForOthers(t *testing.T) {
	inTown(t, func(w *town) {
		a := w.start("a", 1, 0)
		w.within(2*time.Second, 1)
		time.Sleep(30 * time.Second)
		other := &coordinationv1.Lease{}
		other.Name = shard.LeaseName(3, 4)
		other.Spec.HolderIdentity, other.Spec.LeaseDurationSeconds = new("x"), new(int32(Duration/time.Second))
		w.store.mu.Lock()
		w.store.put(other.DeepCopy())
		w.store.mu.Unlock()
		time.Sleep(5 * time.Second)
		if got := w.spread(); !slices.Equal(got, []int{1}) {
			t.Errorf("who is in time has ended: %v", got)
		}
		w.store.mu.Lock()
		other.Spec.LeaseTransitions = new(int32(1)) // it is renewed
		w.store.put(other.DeepCopy())
		w.store.mu.Unlock()
		a.frozen.Store(int64(RenewDeadline))
		select {
		case err := <-a.ended:
			if !errors.Is(err, errLost) || !strings.Contains(err.Error(), other.Name) {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(RetryPeriod + time.Second):
			t.Error("it works on, beside others")
		}
		a.stop()
	})
}
