// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/quota"
)

// machine drives a Schedule at random, and checks after every step what must always hold.
type machine struct {
	s     *Schedule
	mu    sync.Mutex
	woken map[string]bool // and not entered since

	turns map[string]*Turn
	ranks map[string]Rank
	// lined is who stood in each line before the step, inUse how many slots were taken, and
	// reserved what was reserved.
	lined    map[Resource][]*request
	inUse    map[Resource]int
	reserved map[*Ticket]bool
}

var (
	machineKeys      = []string{"a", "b", "c", "d", "e", "f"}
	machineResources = []Resource{gemini, openAI, extractive, mastodon, host, {KindHost, "example.org"}, {KindNetwork, "shared"}, {KindNetwork, "paced"}}
	machineWork      = []Resource{{KindWork, "items"}}
)

// machineOwners are the keys of two tenants and more, some with groups.
var machineOwners = map[string]Owner{
	"a": {"one", "x"}, "b": {"one", "x"}, "c": {"one", "y"}, "d": {"two", "x"}, "e": {"three", ""}, "f": {"three", "z"},
}

// of is the rank with an owner.
func (r Rank) of(owner Owner) Rank {
	r.Owner = owner
	return r
}

func newMachine() *machine {
	m := &machine{woken: map[string]bool{}, turns: map[string]*Turn{}, ranks: map[string]Rank{}}
	m.s = New(clock.RealClock{}, func(key string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.woken[key] = true
	}, map[Kind]Limit{
		KindHost: {Concurrent: 1}, KindNetwork: {Concurrent: 1, Every: 7 * time.Second, Sharing: ByTenant}, KindWork: {Concurrent: 1, Sharing: ByGroup},
	})
	return m
}

func (m *machine) isWoken(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.woken[key]
}

func (m *machine) enter(key string) {
	m.mu.Lock()
	delete(m.woken, key)
	m.mu.Unlock()
	m.turns[key] = m.s.Enter(key)
}

func (m *machine) leave(key string) {
	m.turns[key].Leave()
	delete(m.turns, key)
}

// turn draws a key whose turn is under way.
func (m *machine) turn(t *rapid.T) (string, *Turn) {
	var keys []string
	for _, key := range machineKeys {
		if m.turns[key] != nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		t.Skip("nobody's turn")
	}
	key := rapid.SampledFrom(keys).Draw(t, "key")
	return key, m.turns[key]
}

func drawChain(t *rapid.T, from []Resource, label string) []Resource {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 1, 3, rapid.ID[Resource]).Draw(t, label)
}

func drawAvailability(t *rapid.T) Availability {
	return Availability{
		State:    rapid.SampledFrom([]State{StateReady, StateReady, StateCoolingDown, StateCircuitOpen, StateDown}).Draw(t, "state"),
		Until:    time.Now().Add(time.Duration(rapid.IntRange(-10, 100).Draw(t, "until")) * time.Second),
		Failures: rapid.IntRange(0, 6).Draw(t, "failures"),
	}
}

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
		"enter": func(t *rapid.T) {
			key := rapid.SampledFrom(machineKeys).Draw(t, "key")
			if m.turns[key] != nil {
				t.Skip("its turn is under way")
			}
			m.enter(key)
		},
		"enter whoever is woken": func(t *rapid.T) {
			for _, key := range machineKeys {
				if m.isWoken(key) && m.turns[key] == nil {
					m.enter(key)
					return
				}
			}
			t.Skip("nobody is woken")
		},
		"acquire": func(t *rapid.T) {
			key, turn := m.turn(t)
			m.ranks[key] = published(rapid.IntRange(0, 5).Draw(t, "rank"))
			m.ranks[key] = m.ranks[key].of(machineOwners[key])
			turn.Acquire(m.ranks[key], drawChain(t, machineResources, "chain")...)
		},
		"acquire the same": func(t *rapid.T) {
			key, turn := m.turn(t)
			turn.Acquire(m.ranks[key], gemini, openAI)
		},
		"acquire a place": func(t *rapid.T) {
			key, turn := m.turn(t)
			tickets, _ := turn.AcquireAll(m.ranks[key].of(machineOwners[key]), machineWork)
			again, ok := turn.AcquireAll(m.ranks[key].of(machineOwners[key]), machineWork)
			if tickets != nil && (!ok || again[0] != tickets[0]) {
				broken("%s has a place, and gets another", key)
			}
		},
		"acquire all": func(t *rapid.T) {
			key, turn := m.turn(t)
			turn.AcquireAll(m.ranks[key].of(machineOwners[key]), machineWork,
				drawChain(t, machineResources[:3], "providers"), drawChain(t, machineResources[6:], "shared"))
		},
		"keep waiting": func(t *rapid.T) { _, turn := m.turn(t); turn.KeepWaiting() },
		"entrust and end a place": func(t *rapid.T) {
			_, turn := m.turn(t)
			for _, ticket := range turn.held {
				if ticket.resource.id == machineWork[0] && !ticket.closed {
					turn.Detach(ticket)
					ticket.Done()
					return
				}
			}
			t.Skip("holds no place")
		},
		"acquire two": func(t *rapid.T) {
			key, turn := m.turn(t)
			tickets, ok := turn.AcquireAll(m.ranks[key],
				drawChain(t, machineResources[:3], "providers"), drawChain(t, machineResources[4:], "hosts"))
			if ok != (len(tickets) == 2) {
				broken("%d tickets of 2", len(tickets))
			}
		},
		"close a ticket": func(t *rapid.T) {
			_, turn := m.turn(t)
			if len(turn.held) == 0 {
				t.Skip("holds nothing")
			}
			ticket := rapid.SampledFrom(turn.held).Draw(t, "ticket")
			ticket.Used(rapid.SampledFrom([]int64{-1, 0, 10, 400, 30_000}).Draw(t, "tokens"))
			switch rapid.IntRange(0, 4).Draw(t, "how") {
			case 0:
				ticket.Cancel()
			case 1:
				ticket.Done()
			case 2:
				ticket.Succeeded()
			case 3:
				ticket.Failed(failed(v1alpha1.CategoryAPI))
			case 4:
				ticket.Failed(failed(v1alpha1.CategoryRateLimit))
			}
		},
		"leave": func(t *rapid.T) { key, _ := m.turn(t); m.leave(key) },
		"time passes": func(t *rapid.T) {
			time.Sleep(time.Duration(rapid.IntRange(1, 90).Draw(t, "s")) * time.Second)
			m.lined = nil // there were many steps in between
		},
		"configure": func(t *rapid.T) {
			m.s.Configure(rapid.SampledFrom(machineResources[:4]).Draw(t, "resource"), Limit{
				PerMinute:  rapid.SampledFrom([]int{0, 1, 10, 600}).Draw(t, "per minute"),
				Concurrent: rapid.IntRange(0, 3).Draw(t, "concurrent"),

				TokensPerDay: rapid.SampledFrom([]int64{0, 0, 1, 500, 1_000_000}).Draw(t, "tokens per day"),
			})
		},
		"remove": func(t *rapid.T) { m.s.Remove(rapid.SampledFrom(machineResources).Draw(t, "resource")) },
		"set availability": func(t *rapid.T) {
			m.s.SetAvailability(rapid.SampledFrom(machineResources).Draw(t, "resource"), drawAvailability(t))
		},
		"write tokens": func(t *rapid.T) {
			id := rapid.SampledFrom(machineResources).Draw(t, "resource")
			m.s.TokensWritten(id, m.s.Tokens(id, true))
		},
		"restore tokens": func(t *rapid.T) {
			m.s.RestoreTokens(rapid.SampledFrom(machineResources).Draw(t, "resource"), quota.Tokens{
				Day: time.Now().UTC().Truncate(day), Reserved: rapid.SampledFrom([]int64{0, 100, 1000}).Draw(t, "reserved"),
			})
		},
		"the next day": func(*rapid.T) {
			time.Sleep(time.Until(time.Now().UTC().Truncate(day).Add(day)))
			m.lined = nil // there were many steps in between
		},
		"open": func(*rapid.T) { m.s.Open() },
	}
}
