// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"slices"
	"sync"
)

// line is a weighted semaphore at which owners take turns: of each, the first in its own line goes next, so
// that it does not matter to one owner how many others' work waits. Who is next is never passed by
// who needs less; so what needs all gets it.
type line struct {
	size int64

	mu     sync.Mutex
	used   int64
	owners []string // that wait, in the order of their turns
	lines  map[string][]*waiter
}

// waiter is one who waits for its turn.
type waiter struct {
	bytes int64
	ready chan struct{} // closed once the bytes are taken for it
}

func (l *line) wait(ctx context.Context, owner string, bytes int64) (granted int64, done func(), err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	bytes = min(max(bytes, 0), l.size)
	next := &waiter{bytes: bytes, ready: make(chan struct{})}
	l.mu.Lock()
	l.enter(owner, next)
	l.grant()
	l.mu.Unlock()
	select {
	case <-next.ready:
	case <-ctx.Done():
		if l.leave(owner, next) {
			return 0, nil, ctx.Err()
		}
	}
	return bytes, sync.OnceFunc(func() { l.giveBack(bytes) }), nil
}

func (l *line) enter(owner string, next *waiter) {
	if l.lines == nil {
		l.lines = map[string][]*waiter{}
	}
	if len(l.lines[owner]) == 0 {
		l.owners = append(l.owners, owner)
	}
	l.lines[owner] = append(l.lines[owner], next)
}

// leave takes one out of the line; false: its turn has come.
func (l *line) leave(owner string, waiting *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.lines[owner], waiting)
	if at < 0 {
		return false
	}
	l.lines[owner] = slices.Delete(l.lines[owner], at, at+1)
	if len(l.lines[owner]) == 0 {
		delete(l.lines, owner)
		l.owners = slices.DeleteFunc(l.owners, func(name string) bool { return name == owner })
	}
	l.grant() // somebody smaller may stand behind
	return true
}

// grant serves those whose turn it is, as long as there is room for the next.
func (l *line) grant() {
	for len(l.owners) > 0 {
		owner := l.owners[0]
		next := l.lines[owner][0]
		if l.used+next.bytes > l.size {
			return
		}
		l.used += next.bytes
		close(next.ready)
		l.owners = l.owners[1:]
		if l.lines[owner] = l.lines[owner][1:]; len(l.lines[owner]) > 0 {
			l.owners = append(l.owners, owner)
		} else {
			delete(l.lines, owner)
		}
	}
}

func (l *line) giveBack(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= bytes
	l.grant()
}

func (l *line) inUse() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}
