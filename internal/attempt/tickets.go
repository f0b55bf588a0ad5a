// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/web"
)

// tickets are what an attempt holds of the schedule.
type tickets struct {
	// chain is all providers of the source; first those of them that can do what comes first.
	chain, first []link
	provider     *schedule.Ticket
	page         *web.Visit

	mu sync.Mutex // of provider, while it may be lent
}

// cancelUnused returns the provider's ticket, if it was not used.
func (t *tickets) cancelUnused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.provider != nil {
		t.provider.Cancel()
		t.provider = nil
	}
}

// pageWait is how long a provider is kept for an item whose page is being read. Pages that take
// longer must not hold up the items of others: hosts that hang would soon hold every place.
const pageWait = 2 * time.Second

// lend gives the provider's ticket back unless the page has been read by then, which back says.
func (t *tickets) lend(clock clock.WithDelayedExecution) (back func()) {
	if t.provider == nil {
		return func() {}
	}
	read := false
	timer := clock.AfterFunc(pageWait, func() {
		go func() { // a fake clock calls back while it holds its lock
			t.mu.Lock()
			defer t.mu.Unlock()
			if !read && t.provider != nil {
				t.provider.Cancel()
				t.provider = nil
			}
		}()
	})
	return func() {
		timer.Stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		read = true
	}
}

// links are the providers of the chain, without what the schedule knows them by.
func (t *tickets) links() []provider.Link {
	links := make([]provider.Link, 0, len(t.chain))
	for _, next := range t.chain {
		links = append(links, next.Link)
	}
	return links
}

// usable returns the links of the chain that are asked for and can be called.
func (t *tickets) usable(asked []provider.Link) []link {
	var usable []link
	for _, next := range t.chain {
		wanted := slices.ContainsFunc(asked, func(link provider.Link) bool { return link.Name == next.Name })
		if wanted && next.unavailable == "" && next.Provider != nil {
			usable = append(usable, next)
		}
	}
	return usable
}

// pop returns the ticket that is held, once, if it is for one of some links.
func (t *tickets) pop(usable []link) *schedule.Ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	ticket := t.provider
	if ticket == nil || !slices.ContainsFunc(usable, func(next link) bool { return next.resource == ticket.Resource() }) {
		return nil
	}
	t.provider = nil
	return ticket
}
