// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package share is what there is too little of for everybody at the same time, shared fairly.
//
// It knows nothing of what is shared, and of those who share it only a name.
package share

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrCrowded means that there was no place for as long as somebody was willing to wait.
var ErrCrowded = errors.New("all places are taken")

// Places are taken and given back. No tenant has more of them than their share, so that there are always some that one alone cannot take. New makes them. They
// are safe for concurrent use.
type Places struct {
	all   *semaphore.Weighted
	ofOne int64

	mu     sync.Mutex
	shares map[string]*share
}

// share is that of one tenant, for as long as they use or wait for any of it.
type share struct {
	places *semaphore.Weighted
	users  int
}

// New returns so many places, of which one tenant has so many at most.
func New(all, ofOne int64) *Places {
	return &Places{all: semaphore.NewWeighted(all), ofOne: ofOne, shares: map[string]*share{}}
}

// Take takes a place for somebody of a tenant, for which it waits for so long, and returns how to give it back. Where nobody is asked who they are,
// nobody is a tenant, and all share all. The error is ErrCrowded, or that of ctx.
func (p *Places) Take(ctx context.Context, tenant string, patience time.Duration) (leave func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	leave = p.take(tenant, func(of *semaphore.Weighted) bool { return of.Acquire(waiting, 1) == nil })
	switch {
	case leave != nil:
		return leave, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, ErrCrowded
}

// Try takes a place for somebody of a tenant, as Take does, if there is one now.
func (p *Places) Try(tenant string) (leave func(), err error) {
	if leave = p.take(tenant, func(of *semaphore.Weighted) bool { return of.TryAcquire(1) }); leave == nil {
		return nil, ErrCrowded
	}
	return leave, nil
}

// take takes one of a tenant's share, and then one of all; leave is nil where there is none of either.
func (p *Places) take(tenant string, one func(of *semaphore.Weighted) bool) (leave func()) {
	own, left := p.share(tenant)
	if one(own) {
		if one(p.all) {
			return func() { p.all.Release(1); own.Release(1); left() }
		}
		own.Release(1)
	}
	left()
	return nil
}

// share is that of a tenant, and how to say that it is needed no more.
func (p *Places) share(tenant string) (own *semaphore.Weighted, left func()) {
	if tenant == "" {
		return semaphore.NewWeighted(1), func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.shares[tenant]
	if of == nil {
		of = &share{places: semaphore.NewWeighted(p.ofOne)}
		p.shares[tenant] = of
	}
	of.users++
	return of.places, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if of.users--; of.users == 0 {
			delete(p.shares, tenant)
		}
	}
}
