// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiclock is a clock that shows the API server's time, on whatever machine it is looked at: all that replicas of the
// operator write down, and compare with what others have written, is of this one clock.
//
// It knows the API server as somebody who answers with a Date (RFC 9110, 6.6.1), and nothing of Kubernetes. The clock of the machine
// is asked for one thing only: how much time passes between two answers. That it is set, be it by a year, changes nothing.
package apiclock

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/internal/peerclock"
)

var _ clock.WithDelayedExecution = (*Clock)(nil)

// Clock shows the API server's time, to within two seconds; the machine's own as long as no answer has come. Its timers are those
// of the machine: how long a wait takes does not depend on what time it is. Make one with New. It is safe for concurrent use.
type Clock struct {
	local clock.WithDelayedExecution
	// passed is how much time has passed since the clock was made, which was at began by the machine's clock.
	passed func() time.Duration
	began  time.Time

	api peerclock.Difference
	// heard is what had passed when the last answer came, in nanoseconds; 0 for never.
	heard atomic.Int64
}

// New makes a clock that lives on the machine's. Wrap lets it hear the API server.
func New(local clock.WithDelayedExecution) *Clock {
	c := &Clock{local: local, began: local.Now()}
	c.passed = func() time.Duration { return c.local.Now().Sub(c.began) }
	if _, isMachine := local.(clock.RealClock); isMachine {
		c.passed = sinceBoot()
	}
	return c
}

// Wrap returns a RoundTripper that sends requests to the API server, and learns from the answers; it is for rest.Config.Wrap.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper {
	return &listener{clock: c, next: next}
}

// listener lets requests through.
type listener struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (l *listener) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := l.clock.own()
	answer, err := l.next.RoundTrip(request)
	if err == nil {
		l.clock.api.Answered(sent, l.clock.own(), answer.StatusCode, answer.Header)
		if refused := answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests; !refused {
			l.clock.heard.Store(int64(max(l.clock.passed(), 1)))
		}
	}
	return answer, err
}

// WrappedRoundTripper is how client-go finds what is behind it.
func (l *listener) WrappedRoundTripper() http.RoundTripper { return l.next }

// own is the time by the machine's clock as it was when this one was made, and by what has passed since.
func (c *Clock) own() time.Time { return c.began.Round(0).Add(c.passed()) }

// Now returns the API server's time.
func (c *Clock) Now() time.Time {
	ahead, _ := c.api.Value()
	return c.own().Add(ahead)
}

// Passed returns how much time has passed since the clock was made, whatever any clock was set to.
func (c *Clock) Passed() time.Duration { return c.passed() }

// Since returns how long ago a time of the API server's was.
func (c *Clock) Since(at time.Time) time.Duration { return c.Now().Sub(at) }

// Ahead is how far the API server's clock is ahead of the machine's, as that is set now. It returns false while nothing is known.
func (c *Clock) Ahead() (ahead time.Duration, known bool) {
	_, known = c.api.Value()
	return c.Now().Sub(c.local.Now().Round(0)), known
}

// After implements clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.local.After(d) }

// NewTimer implements clock.Clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer { return c.local.NewTimer(d) }

// Sleep implements clock.Clock.
func (c *Clock) Sleep(d time.Duration) { c.local.Sleep(d) }

// Tick implements clock.Clock.
func (c *Clock) Tick(d time.Duration) <-chan time.Time { return c.local.Tick(d) }

// AfterFunc implements clock.WithDelayedExecution.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer { return c.local.AfterFunc(d, f) }

const (
	// lookEvery is how often Keep looks whether it has to ask.
	lookEvery = 10 * time.Second
	// longestSilence is after how long without an answer it asks.
	longestSilence = 30 * time.Second
	// patience is how long it waits for one.
	patience = 10 * time.Second
	// worthTelling is a difference that somebody should know of.
	worthTelling = 5 * time.Second
	// asksInDoubt is how often it asks at once where the last answer contradicts those before.
	asksInDoubt = 3
)

// Keep sees to it that the clock hears the API server, until the context ends. It asks where no answer came for a while that was for
// somebody else: an operator with nothing to do sends no requests; and where the last answer contradicts those before. Ask
// makes any request through what Wrap returns. Tell, which may be nil, is called when the difference between the API server's clock and the
// machine's has become another one by seconds.
func (c *Clock) Keep(ctx context.Context, ask func(context.Context) error, tell func(ahead time.Duration)) {
	var told time.Duration
	for {
		if c.silent() {
			c.Ask(ctx, ask)
		}
		for asks := 0; c.api.Doubted() && asks < asksInDoubt && ctx.Err() == nil; asks++ {
			c.Ask(ctx, ask)
		}
		if ahead, known := c.Ahead(); tell != nil && known && (ahead-told).Abs() >= worthTelling {
			told = ahead
			tell(ahead)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.local.After(lookEvery):
		}
	}
}

// Ask makes one request, within bounds. That it fails says nothing: the answer to another one will do.
func (c *Clock) Ask(ctx context.Context, ask func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = ask(ctx)
}

// Silence is for how long the API server has answered nothing but that it cannot; what stands before it may say that in its place. While Keep asks it, that
// is less than a minute as long as it can be reached.
func (c *Clock) Silence() time.Duration { return c.passed() - time.Duration(c.heard.Load()) }

func (c *Clock) silent() bool { return c.heard.Load() == 0 || c.Silence() >= longestSilence }
