// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan is what happens to a town, and when. It follows from the seed and the duration alone.
type plan struct {
	seed     uint64
	duration time.Duration
	crew     crew
	// keys is what each account's server does with keys, and skew how far its clock is ahead, by the name of the account.
	accounts map[string]account
	// latest is how far the clocks are ahead of the operator's at most.
	latest time.Duration
	steps  []step
	// feeds are as they are in the end, when all that was ever listed is listed again.
	feeds map[string]*draft
}

// crew is how many replicas of the operator there are, and how they share the work.
type crew string

// The crews.
const (
	alone   crew = "one replica"
	rivals  crew = "two replicas that both do all the work"
	elected crew = "two replicas that elect a leader"
	sharers crew = "two replicas that share four shards"
)

// replicas are their names.
func (c crew) replicas() []string {
	if c == alone {
		return []string{"A"}
	}
	return []string{"A", "B"}
}

// step is one thing that is done at a moment.
type step struct {
	number int
	at     time.Duration
	says   string
	// kind is what it is counted as; empty: as nothing.
	kind string
	// do returns what is to be noted of how it went, if anything.
	do func(*town) string
}

// planner draws a plan.
type planner struct {
	*rand.Rand
	plan *plan
	now  time.Duration
	// busy is until when nothing more is to happen to something.
	busy map[string]time.Duration
	// ahead is how far the clocks are ahead of the operator's now.
	ahead time.Duration
	// late is until when a server may still be at a post of which nobody has heard. Who sets the API server's clock ahead before makes the
	// operator believe that it has waited long enough.
	late time.Duration
}

// calm is how long after a server has published late nobody sets the clocks of all others ahead.
const calm = 2 * time.Second

// newPlan draws a plan.
func newPlan(seed uint64, duration time.Duration) *plan {
	p := &planner{
		Rand: rand.New(rand.NewPCG(seed, 0)),
		plan: &plan{seed: seed, duration: duration, accounts: map[string]account{}, feeds: map[string]*draft{}},
		busy: map[string]time.Duration{},
	}
	p.plan.crew = []crew{alone, rivals, elected}[p.IntN(3)]
	if p.plan.crew == elected && seed%2 == 1 { // no draw more, so that each seed goes on as before
		p.plan.crew = sharers
	}
	for _, name := range accountNames {
		p.plan.accounts[name] = p.account(name)
	}
	for _, name := range feedNames {
		p.plan.feeds[name] = &draft{name: name}
		p.plan.feeds[name].add(fewestStories)
	}
	p.list(0, "the feeds begin", feedNames...)
	const shortest, longest = 200 * time.Millisecond, 2 * time.Second
	for p.now = p.between(shortest, longest); p.now < duration; p.now += p.between(shortest, longest) {
		p.draw()
	}
	slices.SortStableFunc(p.plan.steps, func(a, b step) int { return int(a.at - b.at) })
	for i := range p.plan.steps {
		p.plan.steps[i].number = i + 1
	}
	for _, name := range feedNames {
		p.plan.feeds[name].relistAll()
	}
	return p.plan
}

// account draws a server. That of the notices honours keys, by which alone a notice is told once, and so has the right time.
func (p *planner) account(name string) account {
	drawn := []string{readable, ignoresKeys, failsReplay}[p.IntN(3)]
	skew := skews[p.IntN(len(skews))]
	if name == desk {
		return account{counterpart: readable}
	}
	return account{counterpart: drawn, skew: skew}
}

// draw draws what happens next. What is not possible now is not drawn again: then nothing happens.
func (p *planner) draw() {
	total := 0
	for _, one := range actions {
		total += one.weight
	}
	for drawn := p.IntN(total); ; {
		for _, one := range actions {
			if drawn -= one.weight; drawn < 0 {
				one.plan(p)
				return
			}
		}
	}
}

// between draws a time.
func (p *planner) between(shortest, longest time.Duration) time.Duration {
	return (shortest + time.Duration(p.Int64N(int64(longest-shortest)))).Truncate(time.Millisecond)
}

// while draws how long something goes on: a few seconds, and at times much longer.
func (p *planner) while(usual, rare time.Duration) time.Duration {
	const moment = 300 * time.Millisecond
	if p.IntN(8) == 0 {
		return p.between(usual, rare)
	}
	return p.between(moment, usual)
}

// step adds a step of a kind.
func (p *planner) step(at time.Duration, kind, says string, do func(*town) string) {
	p.plan.steps = append(p.plan.steps, step{at: at, kind: kind, says: says, do: do})
}

// counts returns how often what is done.
func (p *plan) counts() string {
	counted := map[string]int{}
	for _, one := range p.steps {
		counted[one.kind]++
	}
	delete(counted, "")
	var all []string
	for kind, times := range counted {
		all = append(all, fmt.Sprintf("%d × %s", times, kind))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// spell adds two steps: something begins to happen to whom, and it ends. It returns false, and adds nothing, while something else does.
func (p *planner) spell(whom string, lasts time.Duration, says string, begin, end func(*town) string) bool {
	if p.busy[whom] > p.now {
		return false
	}
	lasts = min(lasts, p.plan.duration-p.now)
	p.busy[whom] = p.now + lasts + time.Millisecond
	kind := whom + " away"
	if strings.HasPrefix(whom, replica) {
		kind = "replica " + says
	}
	p.step(p.now, kind, fmt.Sprintf("%s: %s, for %s", whom, says, lasts), begin)
	p.step(p.now+lasts, "", fmt.Sprintf("%s: no longer %s", whom, says), end)
	return true
}

// list adds a step in which feeds list what they list now, and a person has them polled.
func (p *planner) list(at time.Duration, says string, feeds ...string) {
	documents := map[string][]listing{}
	for _, name := range feeds {
		documents[name] = p.plan.feeds[name].document()
	}
	p.step(at, "a feed changed", says, func(t *town) string {
		for name, document := range documents {
			t.list(name, document)
		}
		return ""
	})
}
