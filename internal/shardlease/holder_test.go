// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shardlease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/shard"
)

// town is some replicas at one API server, in the time of a test.
type town struct {
	t     *testing.T
	store *store
	log   logr.Logger // its zero value discards

	mu sync.Mutex
	// acting are the replicas that work, by the Lease of the shard that they work on.
	acting map[string]string
	// overlaps are when two have worked on the same namespaces.
	overlaps []string
}

func newTown(t *testing.T) *town {
	return &town{t: t, store: &store{leases: map[string]*coordinationv1.Lease{}}, acting: map[string]string{}}
}

// begin notes that a replica begins to work on a shard. Nobody else may work on the same namespaces: those of a shard of another number are among them.
func (w *town) begin(lease, replica string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, count, _ := shard.ParseLeaseName(lease)
	for other, who := range w.acting {
		if _, of, _ := shard.ParseLeaseName(other); other == lease || of != count {
			w.overlaps = append(w.overlaps, fmt.Sprintf("%s works on %s while %s does on %s", replica, lease, who, other))
		}
	}
	w.acting[lease] = replica
}

func (w *town) end(lease, replica string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acting[lease] == replica {
		delete(w.acting, lease)
	}
}

// gone notes that a replica does nothing any more.
func (w *town) gone(replica string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.acting, func(_, who string) bool { return who == replica })
}

// spread is on how many shards each replica works, in order.
func (w *town) spread() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := map[string]int{}
	for _, replica := range w.acting {
		by[replica]++
	}
	return slices.Sorted(maps.Values(by))
}

// works reports whether a replica works on anything.
func (w *town) works(m *member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(slices.Collect(maps.Values(w.acting)), m.name)
}

// within waits until as many shards are worked on by each as they should, and fails after a while.
func (w *town) within(most time.Duration, want ...int) {
	w.t.Helper()
	slices.Sort(want)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if slices.Equal(w.spread(), want) {
			return
		}
		if time.Since(began) > most {
			w.t.Fatalf("after %s replicas work on %v shards, want %v: %v", most, w.spread(), want, w.acting)
		}
	}
}

// check checks that no two have worked on the same namespaces.
func (w *town) check() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, overlap := range w.overlaps {
		w.t.Error(overlap)
	}
}

// put has a Lease stand that a holder has renewed so many times, be there such a replica or not.
func (w *town) put(name, holder string, renewals int32) {
	lease := &coordinationv1.Lease{}
	lease.Name = name
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.LeaseTransitions = &holder, new(int32(Duration/time.Second)), &renewals
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.put(lease)
}

// renew has a Lease be renewed every second from now on, until it is called off, as somebody does who takes no shard.
func (w *town) renew(name, holder string) (callOff func()) {
	var over atomic.Bool
	w.put(name, holder, 0)
	go func() {
		for renewals := int32(1); ; renewals++ {
			time.Sleep(time.Second)
			if over.Load() {
				return
			}
			w.put(name, holder, renewals)
		}
	}()
	return func() { over.Store(true) }
}

// member is a replica.
type member struct {
	name   string
	access *access
	stop   context.CancelFunc
	ended  chan error
	// frozen is for how long the process has been frozen in all, by its own clock.
	frozen atomic.Int64
}

// start starts a replica. Its operators take a while to finish what is under way. What its access to the API server is like from its first request on
// must be said before it begins.
func (w *town) start(name string, shards int, finish time.Duration, like ...func(*access)) *member {
	ctx, stop := context.WithCancel(w.t.Context())
	m := &member{name: name, access: &access{store: w.store}, stop: stop, ended: make(chan error, 1)}
	for _, set := range like {
		set(m.access)
	}
	holder := &Holder{
		Leases: m.access, Namespace: "system", Replica: name, Shards: shards, Log: w.log,
		Clock: func() time.Time { return time.Now().Add(time.Duration(m.frozen.Load())) },
		New: func(_ context.Context, _ int, lock resourcelock.Interface) (Operator, error) {
			return &operator{w, name, lock, finish}, nil
		},
	}
	go func() {
		err := holder.Run(ctx)
		w.gone(name) // the process ends
		m.ended <- err
	}()
	return m
}

// before has something happen before each request of a replica.
func before(do func(verb, name string)) func(*access) {
	return func(a *access) { a.before = do }
}

// end stops a replica and waits until it has ended.
func (m *member) end(t *testing.T) {
	t.Helper()
	m.stop()
	if err := <-m.ended; err != nil {
		t.Errorf("%s was told to stop, and ended with %v", m.name, err)
	}
}

// operator does as a manager of controller-runtime does.
type operator struct {
	town    *town
	replica string
	lock    resourcelock.Interface
	finish  time.Duration
}

func (o *operator) Start(ctx context.Context) error {
	_, lease, _ := strings.Cut(o.lock.Describe(), "/")
	leading, stopLeading := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	lost, acting := make(chan error, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: o.lock, LeaseDuration: Duration, RenewDeadline: RenewDeadline, RetryPeriod: RetryPeriod, ReleaseOnCancel: true, Name: lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				o.town.begin(lease, o.replica)
				close(acting)
			},
			OnStoppedLeading: func() { lost <- errors.New("leader election lost") },
		},
	})
	if err != nil {
		stopLeading()
		return err
	}
	electing := make(chan struct{})
	go func() {
		elector.Run(leading)
		close(electing)
	}()
	defer func() {
		stopLeading()
		<-electing
	}()
	select {
	case <-ctx.Done():
		select {
		case <-acting:
			time.Sleep(o.finish)
		default:
		}
		o.town.end(lease, o.replica)
		return nil
	case err := <-lost:
		o.town.end(lease, o.replica)
		return err
	}
}

// inTown runs a test in a time of its own.
func inTown(t *testing.T, test func(w *town)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		test(w)
		w.check()
		time.Sleep(time.Minute) // where a process would have ended, goroutines do
	})
}

// R6.3: shards are spread evenly over the replicas as these come and go. A shard that is given up is soon taken.
func TestShardsAreSpreadEvenlyAsReplicasComeAndGo(t *testing.T) {
	inTown(t, func(w *town) {
		a := w.start("a", 5, 0)
		w.within(2*time.Second, 5)
		b := w.start("b", 5, 0)
		w.within(10*time.Second, 3, 2)
		c := w.start("c", 5, 0)
		w.within(10*time.Second, 2, 2, 1)
		b.end(t)
		w.within(3*time.Second, 3, 2)
		a.end(t)
		w.within(3*time.Second, 5)
		c.end(t)
		w.within(0)
	})
}

// R6.3: what is under way is finished before a shard is given up, however long that takes. Until then nobody else works on it.
func TestAShardIsFinishedBeforeItIsGivenUp(t *testing.T) {
	inTown(t, func(w *town) {
		finish := time.Duration(portion.Of(300, 60)) * time.Second
		a := w.start("a", 4, finish)
		w.within(2*time.Second, 4)
		b := w.start("b", 4, 0)
		time.Sleep(finish - 10*time.Second)
		w.within(0, 4)
		w.within(20*time.Second, 2, 2)
		b.end(t)
		w.within(3*time.Second, 4)
		a.end(t)
	})
}

// R6.3: who cannot reach the API server any more stops before another one takes its shards, and ends.
func TestWhoCannotRenewItsLeasesEnds(t *testing.T) {
	inTown(t, func(w *town) {
		a, b := w.start("a", 4, 0), w.start("b", 4, 0)
		w.within(20*time.Second, 2, 2)
		a.access.setCut(true)
		w.within(Duration+5*time.Second, 4)
		if err := <-a.ended; err == nil {
			t.Error("it ended as if it had been told to")
		}
		a.stop()
		b.end(t)
	})
}

// R6.3: who takes more than its share, because a replica that seems to be there does not want it, gives up to one that has come since as soon as
// that other one is gone; and keeps it for a minute while it is there, because it would come back.
func TestWhatIsKeptForAReplicaThatOnlySeemsToBeThereIsGivenUpWhenThatIsGone(t *testing.T) {
	inTown(t, func(w *town) {
		gone := w.renew(shard.MemberName("ghost", 4), "ghost")
		a := w.start("a", 4, 0)
		w.within(2*time.Second, 2)
		w.within(shard.Unwanted+2*time.Second, 4)
		w.within(Duration+time.Second, 2) // it may have been too new
		w.within(shard.Unwanted+2*time.Second, 4)
		b := w.start("b", 4, 0)
		time.Sleep(Duration)
		w.within(0, 4)
		gone()
		w.within(Duration+5*time.Second, 2, 2)
		a.end(t)
		b.end(t)
	})
}

// R6.3: a replica that comes while another one's Leases run out sees that later than who has been there for longer. It is not left without its share for
// not having taken what it could not see.
func TestWhoComesAsAnotherReplicaCrashesSoonHasItsShare(t *testing.T) {
	inTown(t, func(w *town) {
		a, crashed := w.start("a", 4, 0), w.start("crashed", 4, 0)
		w.within(20*time.Second, 2, 2)
		crashed.access.setCut(true)
		if err := <-crashed.ended; err == nil {
			t.Error("it ended as if it had been told to")
		}
		b := w.start("b", 4, 0)
		w.within(Duration, 4) // a, which sees it first
		w.within(Duration+shard.Unwanted, 2, 2)
		a.end(t)
		b.end(t)
		crashed.stop()
	})
}

// R6.3: a replica that crashes as soon as it has begun, and is started again for ever, takes no work away from the one that does it.
func TestAReplicaThatCrashesAtEachStartDisturbsNobody(t *testing.T) {
	inTown(t, func(w *town) {
		a := w.start("a", 4, 0)
		w.within(2*time.Second, 4)
		for start := range 20 {
			name := fmt.Sprint("crashes-", start)
			w.put(shard.MemberName(name, 4), name, 0)
			for range 80 {
				time.Sleep(100 * time.Millisecond)
				w.within(0, 4)
			}
		}
		b := w.start("b", 4, 0) // and one that stays has its share
		w.within(10*time.Second, 2, 2)
		a.end(t)
		b.end(t)
	})
}

// R6.3: who has more shards gives way to a version that knows none with all of them, also with those that it keeps from a replica that takes none.
func TestWhatIsKeptGivesWayToAVersionThatKnowsNoShards(t *testing.T) {
	inTown(t, func(w *town) {
		defer w.renew(shard.MemberName("ghost", 4), "ghost")()
		a := w.start("a", 4, 0)
		w.within(2*time.Second, 2)
		w.within(shard.Unwanted+2*time.Second, 4)
		defer w.renew(shard.LeaseName(0, 1), "ancient")()
		w.within(rivalsMeet + 2*time.Second)
		a.end(t)
	})
}

// R6.3: removing what others have left may hang. That costs nobody the share of a replica that comes.
func TestRemovalsThatHangHoldUpNobody(t *testing.T) {
	inTown(t, func(w *town) {
		for n := range 8 {
			name := fmt.Sprint("killed-", n)
			w.put(shard.MemberName(name, 4), name, 0)
		}
		hangs := func(a *access) {
			a.setFault(func(verb string) fault {
				if verb == "delete" {
					return fault{takes: time.Minute}
				}
				return fault{}
			})
		}
		a := w.start("a", 4, 0, hangs)
		time.Sleep(2 * time.Minute) // they are to be removed
		b := w.start("b", 4, 0, hangs)
		w.within(25*time.Second, 2, 2)
		for range 20 {
			time.Sleep(10 * time.Second)
			w.within(0, 2, 2)
		}
		for _, m := range []*member{a, b} {
			m.access.setFault(nil)
			m.end(t)
		}
	})
}

// R6.3: a Lease that is good for somebody else is lost, however that came.
func TestWhoseLeaseSomebodyElseHoldsEnds(t *testing.T) {
	inTown(t, func(w *town) {
		a := w.start("a", 2, 0)
		w.within(2*time.Second, 2)
		w.store.mu.Lock()
		stolen := w.store.leases[shard.LeaseName(1, 2)].DeepCopy()
		stolen.Spec.HolderIdentity = new("z")
		w.store.put(stolen)
		w.store.mu.Unlock()
		if err := <-a.ended; !errors.Is(err, errLost) || !strings.Contains(err.Error(), "z") {
			t.Errorf("it ended with %v", err)
		}
		a.stop()
	})
}

// R6.3: a rollout may change the number of shards in any order of starts, stops and crashes: never do two work that were started
// with different numbers, and when those of one are gone, those of the other do.
func TestARolloutChangesTheNumberOfShards(t *testing.T) {
	for _, numbers := range [][2]int{{1, 4}, {4, 1}, {4, 6}} {
		t.Run(fmt.Sprint(numbers), func(t *testing.T) {
			inTown(t, func(w *town) {
				before, after := numbers[0], numbers[1]
				old := []*member{w.start("old-a", before, 0), w.start("old-b", before, 0)}
				time.Sleep(20 * time.Second)
				rolled := []*member{w.start("new-a", after, 0)}
				time.Sleep(20 * time.Second)
				old[0].end(t)
				rolled = append(rolled, w.start("new-b", after, 0))
				time.Sleep(20 * time.Second)
				if got := w.spread(); !slices.Equal(got, []int{before}) && !slices.Equal(got, []int{after}) && len(got) != 2 {
					t.Errorf("replicas work on %v shards while the last old one is there", got)
				}
				holds := w.works(old[1])
				if holds { // then it seems to crash, but does not know
					old[1].access.setCut(true)
				} else { // a new one was quicker when the first old one has given its Leases back
					old[1].end(t)
				}
				half := after / 2
				w.within(Duration+10*time.Second, slices.DeleteFunc([]int{half, after - half}, func(n int) bool { return n == 0 })...)
				if holds {
					if err := <-old[1].ended; err == nil {
						t.Error("the last old one ended as if it had been told to")
					}
					old[1].stop()
				}
				for _, m := range rolled {
					m.end(t)
				}
			})
		})
	}
}

// R6.3: where replicas of different numbers of shards take their first Leases in the same moment, each sees the other's before it acts.
func TestThoseWhoTakeLeasesInTheSameMomentSeeEachOther(t *testing.T) {
	inTown(t, func(w *town) {
		var members []*member
		for i := range 6 {
			members = append(members, w.start(fmt.Sprint("replica-", i), []int{1, 2, 4}[i%3], 0))
		}
		time.Sleep(time.Minute)
		if len(w.spread()) == 0 {
			t.Error("after a minute nobody works")
		}
		for _, m := range members {
			m.end(t)
		}
	})
}

// R6.3: a Lease that somebody takes between the look and the write of another one is seen by that after the write.
func TestWhoHasTakenALeaseLooksBeforeItActs(t *testing.T) {
	inTown(t, func(w *town) {
		old := shard.LeaseName(0, 1)
		var once sync.Once
		m := w.start("a", 2, 0, before(func(verb, name string) {
			if _, _, is := shard.ParseLeaseName(name); verb != "create" || !is {
				return
			}
			once.Do(func() {
				lease := &coordinationv1.Lease{}
				lease.Name = old
				lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("x"), new(int32(Duration/time.Second))
				w.store.mu.Lock()
				defer w.store.mu.Unlock()
				w.store.put(lease)
				w.begin(old, "x")
			})
		}))
		time.Sleep(10 * time.Second)
		w.within(0, 1) // x, alone
		w.end(old, "x")
		w.within(Duration+5*time.Second, 2)
		m.end(t)
	})
}

// R6.3: a version from before there were shards does not look for others' Leases. Whoever has more shards gives way to it.
func TestMoreShardsGiveWayToAVersionThatKnowsNone(t *testing.T) {
	inTown(t, func(w *town) {
		m := w.start("a", 4, 0)
		w.within(2*time.Second, 4)
		lease := &coordinationv1.Lease{}
		lease.Name = shard.LeaseName(0, 1)
		ancient := true
		for second := 0; ancient; second++ {
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.LeaseTransitions = new("x"), new(int32(15)), new(int32(second))
			w.store.mu.Lock()
			w.store.put(lease.DeepCopy())
			w.store.mu.Unlock()
			time.Sleep(time.Second)
			ancient = len(w.spread()) > 0
			if second > 15 {
				t.Fatal("it has not given way")
			}
		}
		w.within(Duration+5*time.Second, 4) // when that one is gone
		m.end(t)
	})
}

// R6.3: a Lease says how long it is good, and may say so wrongly: by another program's mistake, or a person's. One that nobody renews keeps nobody waiting,
// whatever it says: of a shard, of another number of shards, or of a replica.
func TestALeaseThatNobodyRenewsStopsNobodyForLong(t *testing.T) {
	t.Parallel() // and each of these again
	leases, left := map[string]bool{}, map[string]coordinationv1.LeaseSpec{}
	for _, name := range []string{
		shard.LeaseName(0, 1), shard.LeaseName(1, 4), shard.LeaseName(0, 2), shard.LeaseName(63, 64), shard.MemberName("x", 4),
	} {
		leases[name] = true
	}
	for _, seconds := range []int32{3600, 2_000_000_000} {
		for _, renewed := range []time.Time{{}, time.Unix(0, 0), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)} {
			spec := coordinationv1.LeaseSpec{HolderIdentity: new("x"), LeaseDurationSeconds: &seconds, LeaseTransitions: new(int32(1<<31 - 1))}
			if !renewed.IsZero() {
				spec.RenewTime = new(metav1.NewMicroTime(renewed))
			}
			left[fmt.Sprint(" for ", seconds, " since ", renewed.Year())] = spec
		}
	}
	for name := range leases {
		for how, spec := range portion.Across(name, leases, left) {
			t.Run(name+how, func(t *testing.T) {
				inTown(t, func(w *town) {
					lease := &coordinationv1.Lease{Spec: *spec.DeepCopy()}
					lease.Name = name
					w.store.put(lease)
					a, b := w.start("a", 4, 0), w.start("b", 4, 0)
					w.within(longest+2*Duration, 2, 2)
					a.end(t)
					b.end(t)
				})
			})
		}
	}
}

// R6.3: who does nothing because somebody renews a Lease of another number of shards for ever says so, once, with the name of that Lease and its holder.
func TestWhoWaitsForAnotherNumberOfShardsSaysForWhom(t *testing.T) {
	inTown(t, func(w *town) {
		var mu sync.Mutex
		var lines []string
		w.log = funcr.New(func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(line, "waited for") {
				lines = append(lines, line)
			}
		}, funcr.Options{})
		lease := &coordinationv1.Lease{}
		lease.Name = shard.LeaseName(1, 2)
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("somebody"), new(int32(15))
		var m *member
		for second := range int32(60) {
			lease.Spec.LeaseTransitions = new(second)
			w.store.mu.Lock()
			w.store.put(lease.DeepCopy())
			w.store.mu.Unlock()
			if m == nil {
				m = w.start("a", 4, 0)
			}
			time.Sleep(time.Second)
		}
		w.within(0)
		mu.Lock()
		if len(lines) != 1 || !strings.Contains(lines[0], "feed-operator-shard-1-of-2") || !strings.Contains(lines[0], "somebody") {
			t.Errorf("%q", lines)
		}
		mu.Unlock()
		w.within(Duration+5*time.Second, 4)
		m.end(t)
	})
}

// R6.3: a Lease that somebody deletes while it is held is made anew by its holder, which goes on.
func TestALeaseThatIsDeletedIsMadeAnew(t *testing.T) {
	inTown(t, func(w *town) {
		m := w.start("a", 4, 0)
		w.within(2*time.Second, 4)
		name := shard.LeaseName(2, 4)
		w.store.mu.Lock()
		delete(w.store.leases, name)
		w.store.mu.Unlock()
		time.Sleep(Duration)
		w.store.mu.Lock()
		if made := w.store.leases[name]; made == nil || *made.Spec.HolderIdentity != "a" {
			t.Errorf("%v", made)
		}
		w.store.mu.Unlock()
		w.within(0, 4)
		m.end(t)
	})
}
