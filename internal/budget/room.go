// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"fmt"
)

// Room is what one document takes of a budget. It is safe for concurrent use. A nil Room is that of a document
// which nobody counts: it takes all that it wants.
type Room struct {
	budget *Budget
	owner  string
	area   *area

	// Under the lock of the budget: what is held of the area, and of the reserve for the large.
	held, large int64
}

// Grow takes so many bytes more, or nothing: then it reports why not, with ErrFull, or with ErrTooLarge where no later time
// would be better. It never waits.
func (r *Room) Grow(bytes int64) error {
	if r == nil || bytes <= 0 {
		return nil
	}
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.area.offers(r.owner, bytes):
		r.area.add(r.owner, bytes)
		r.held += bytes
	case r.area == &b.documents && b.large.grant(r, bytes, b.now()):
		r.large += bytes
	case !r.area.everOffers(r.held, bytes) && (r.area != &b.documents || r.large+bytes > Largest):
		return fmt.Errorf("%w: %d KiB more were asked for", ErrTooLarge, (bytes+1023)>>10)
	default:
		return fmt.Errorf("%w: %d KiB more were asked for", ErrFull, (bytes+1023)>>10)
	}
	return nil
}

// Charge takes bytes that are in memory already, whether or not there is room for them. So others find less.
func (r *Room) Charge(bytes int64) {
	if r == nil || bytes <= 0 {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.area.add(r.owner, bytes)
	r.held += bytes
}

// Shrink gives back so many bytes, or all that there are.
func (r *Room) Shrink(bytes int64) {
	if r == nil {
		return
	}
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if first := min(bytes, r.large); first > 0 {
		r.large -= first
		bytes -= first
		b.large.giveBack(first)
	}
	if rest := min(bytes, r.held); rest > 0 {
		r.held -= rest
		r.area.add(r.owner, -rest)
	}
}

// Release gives everything back. The room can be used again.
func (r *Room) Release() {
	if r != nil {
		r.Shrink(r.Held())
	}
}

// Held is how much is taken, in bytes.
func (r *Room) Held() int64 {
	if r == nil {
		return 0
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.held + r.large
}

// Work waits until it is the document's turn to take so many bytes for work on it, which must wait for nothing
// else, and end soon: call done then. Who wants more than there is gets all that there is, alone; granted says
// how much it is. The error is that of the context.
func (r *Room) Work(ctx context.Context, bytes int64) (granted int64, done func(), err error) {
	if r == nil {
		return bytes, func() {}, ctx.Err()
	}
	return r.budget.work.wait(ctx, r.owner, bytes)
}

// Most is how much Work grants at most.
func (r *Room) Most() int64 {
	if r == nil {
		return 1 << 62
	}
	return r.budget.work.size
}

// Reader waits until it is the turn of the document to be read by the process that reads such, one at a time: call
// done when it was. Nothing of the memory is taken for that. The error is that of the context.
func (r *Room) Reader(ctx context.Context) (done func(), err error) {
	if r == nil {
		return func() {}, ctx.Err()
	}
	_, done, err = r.budget.reader.wait(ctx, r.owner, 1)
	return done, err
}
