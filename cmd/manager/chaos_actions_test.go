// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"syscall"
	"time"
)

// action is something that may happen to a town, and how often it does, beside the others.
type action struct {
	weight int
	plan   func(*planner)
}

// actions are all that may happen.
var actions = []action{
	// The operator.
	{8, func(p *planner) { p.interrupt("killed", 4*time.Second, syscall.SIGKILL) }},
	{5, func(p *planner) { p.interrupt("stopped", 4*time.Second, syscall.SIGTERM) }},
	{9, (*planner).freeze},

	// The API server.
	{12, func(p *planner) { p.breakNetwork(apiServer, refused, requestLost, answerLost, answerCut) }},
	{3, func(p *planner) { p.api("answers 503 to all", unavailable) }},
	{3, func(p *planner) { p.api("answers 429 to all", throttled) }},
	{4, func(p *planner) { p.api("forbids all writes", forbidden) }},
	{3, func(p *planner) { p.api("has no room for writes", full) }},

	// Where posts go, the model, and the feeds.
	{16, func(p *planner) { p.breakNetwork(p.pressOrMirror(), refused, requestLost, answerLost, answerCut) }},
	{9, func(p *planner) {
		p.answerPosts(p.pressOrMirror(), "answers 500 to posts that it has made", failsAfter)
	}},
	{3, func(p *planner) { p.answerPosts(p.pressOrMirror(), "answers 503 to posts", failsBefore) }},
	{4, func(p *planner) { p.answerPosts(p.pressOrMirror(), "answers 429 to posts", tooMany) }},
	{6, (*planner).publishLate},
	{4, (*planner).disturbDesk},
	{4, func(p *planner) { p.breakNetwork(model, refused, requestLost, answerLost, answerCut) }},
	{4, (*planner).breakModel},
	{3, func(p *planner) { p.breakNetwork(p.feed(), refused, requestLost, answerLost, answerCut) }},

	// The clocks.
	{10, (*planner).setClocks},

	// What the feeds list.
	{24, (*planner).news},
	{24, (*planner).change},

	// A person.
	{5, func(p *planner) { p.person("deletes the item of", (*town).deleteItem) }},
	{5, func(p *planner) { p.person("retries the item of", (*town).retryItem) }},
	{9, (*planner).retryOthers},
	{3, func(p *planner) { p.scheduleRewrite() }},

	{2, (*planner).reapply},
}

// longestOutage is how long a server is away at most.
const longestOutage = 20 * time.Second

// interrupt ends a replica, which comes back after a while.
func (p *planner) interrupt(how string, longest time.Duration, signal syscall.Signal) {
	name := p.replica()
	p.spell(replica+name, p.while(longest, 2*longest), how,
		func(t *town) string { t.replicas[name].end(signal); return "" },
		func(t *town) string { t.replicas[name].begin(); return "" })
}

// freeze freezes a replica: at times for longer than it takes until another one may look for a post and make it.
func (p *planner) freeze() {
	name := p.replica()
	const enough = settleTime + postTimeout
	p.spell(replica+name, p.while(5*time.Second, enough+15*time.Second), "frozen",
		func(t *town) string { return t.replicas[name].freeze() },
		func(t *town) string { return t.replicas[name].thaw() })
}

func (p *planner) replica() string {
	names := p.plan.crew.replicas()
	return names[p.IntN(len(names))]
}

// breakNetwork breaks the way to a server in one of some ways.
func (p *planner) breakNetwork(whom string, faults ...fault) {
	how := faults[p.IntN(len(faults))]
	p.spell(whom, p.while(5*time.Second, longestOutage), string(how),
		func(t *town) string { return t.breakNetwork(whom, how) },
		func(t *town) string { return t.breakNetwork(whom, healthy) })
}

// api has the API server refuse requests.
func (p *planner) api(says string, refusal refusal) {
	p.spell(apiServer, p.while(5*time.Second, longestOutage), says,
		func(t *town) string { t.apiServer.refuse(refusal); return "" },
		func(t *town) string { t.apiServer.refuse(nil); return "" })
}

// answerPosts has an account's server answer requests to post otherwise than usual.
func (p *planner) answerPosts(whom, says string, hook postHook) {
	p.spell(whom, p.while(4*time.Second, 12*time.Second), says,
		func(t *town) string { t.accounts[whom].onPost(hook); return "" },
		func(t *town) string { t.accounts[whom].onPost(nil); return "" })
}

// publishLate has an account's server publish after its caller has given up, but before anybody may look.
func (p *planner) publishLate() {
	whom := p.pressOrMirror()
	late := p.between(postTimeout+time.Second, settleTime-10*time.Second)
	lasts := p.between(2*time.Second, 8*time.Second)
	if p.spell(whom, lasts, fmt.Sprintf("publishes %s late, without an answer", late),
		func(t *town) string { t.accounts[whom].onPost(t.accounts[whom].publishAfter(late)); return "" },
		func(t *town) string { t.accounts[whom].onPost(nil); return "" }) {
		p.late = max(p.late, p.now+lasts+late+calm)
	}
}

// disturbDesk does to the server of notices what it can recover from before the plan has ended: a notice is tried again after minutes.
func (p *planner) disturbDesk() {
	if p.plan.duration < time.Minute || p.now > p.plan.duration*2/5 {
		return
	}
	if p.IntN(2) == 0 {
		p.answerPosts(desk, "answers 500 to posts that it has made", failsAfter)
		return
	}
	p.breakNetwork(desk, refused, requestLost, answerLost, answerCut)
}

func (p *planner) pressOrMirror() string { return []string{press, mirror}[p.IntN(2)] }

func (p *planner) feed() string { return feedNames[p.IntN(len(feedNames))] }

// breakModel has the model answer what is no summary.
func (p *planner) breakModel() {
	how := p.IntN(len(modelFailures))
	p.spell(model, p.while(4*time.Second, 10*time.Second), modelFailures[how].says,
		func(t *town) string { t.breakModel(modelFailures[how].answer); return "" },
		func(t *town) string { t.breakModel(nil); return "" })
}

// skews are how far clocks are apart.
var skews = []time.Duration{0, time.Minute, -time.Minute, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}

// setClocks sets the operator's clock, which is to set that of all others the other way.
func (p *planner) setClocks() {
	ahead := skews[p.IntN(len(skews))]
	if ahead > p.ahead && p.late > p.now {
		ahead = -ahead
	}
	if ahead == p.ahead || ahead > p.ahead && p.late > p.now {
		return
	}
	p.ahead = ahead
	p.plan.latest = max(p.plan.latest, ahead)
	p.step(p.now, "clocks set", fmt.Sprintf("%s: all others are %s ahead of the operator's", clocks, ahead), func(t *town) string {
		t.setClocks(ahead)
		return ""
	})
}

// news has a feed list something new.
func (p *planner) news() {
	feed := p.plan.feeds[p.feed()]
	if n := 1 + p.IntN(3); len(feed.stories)+n <= mostStories {
		p.list(p.now, fmt.Sprintf("%s lists %s", feed.name, feed.add(n)), feed.name)
	}
}

// change has a feed list one of its stories otherwise.
func (p *planner) change() {
	feed := p.plan.feeds[p.feed()]
	one := feed.stories[p.IntN(len(feed.stories))]
	var says string
	switch p.IntN(6) {
	case 0:
		one.edition++
		says = "edits"
	case 1, 2:
		if one.twice = !one.twice; one.twice {
			says = "lists twice"
		} else {
			says = "does not list twice any more"
		}
	case 3, 4:
		if one.listed && feed.listed() <= fewestStories {
			return
		}
		if one.listed = !one.listed; one.listed {
			says = "lists again"
		} else {
			says = "drops"
		}
	default:
		// One of both stays: nobody could tell what has neither from something new.
		if p.IntN(2) == 0 && !one.anonymous {
			one.guid++
			says = "gives another GUID to"
		} else {
			one.link++
			says = "tracks readers of"
		}
	}
	p.list(p.now, fmt.Sprintf("%s %s %s", feed.name, says, one.name), feed.name)
}

// person does something about the item of a story.
func (p *planner) person(says string, do func(*town, string) string) {
	feed := p.plan.feeds[p.feed()]
	name := feed.stories[p.IntN(len(feed.stories))].name
	p.step(p.now, "a person acted", fmt.Sprintf("a person %s %s", says, name), func(t *town) string { return do(t, name) })
}

// retryOthers has a person retry what has failed of a source or at a service.
func (p *planner) retryOthers() {
	all := []string{plain, written, press, mirror, desk, model}
	name := all[p.IntN(len(all))]
	p.step(p.now, "a person acted", fmt.Sprintf("a person retries %s", name), func(t *town) string { t.retry(name); return "" })
}

func (p *planner) scheduleRewrite() {
	name := p.feed()
	p.step(p.now, "a person acted", fmt.Sprintf("a person has %s polled", name), func(t *town) string { t.poll(name); return "" })
}

// reapply deletes a FeedSource, and applies it again. Of two replicas that both do all the work, each knows what it has posted itself.
func (p *planner) reapply() {
	if p.plan.crew == rivals {
		return
	}
	name := p.feed()
	p.step(p.now, "a source applied again", fmt.Sprintf("a person deletes FeedSource %s, and applies it again", name), func(t *town) string { return t.reapply(name) })
}
