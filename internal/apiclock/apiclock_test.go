// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiclock_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/internal/apiclock"
)

// about is how exactly the clock shows the API server's time.
const about = 2 * time.Second

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// apiServer answers with its time.
type apiServer struct{ now func() time.Time }

func (s apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {s.now().UTC().Format(http.TimeFormat)}}, Request: r}, nil
}

func ask(ctx context.Context, t *testing.T, way http.RoundTripper) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := way.RoundTrip(request)
	if err == nil && answer.Body != nil {
		_ = answer.Body.Close()
	}
}

func checkTime(t *testing.T, clock *apiclock.Clock, want time.Time) {
	t.Helper()
	if got := clock.Now(); got.Sub(want).Abs() > about {
		t.Errorf("the clock shows %s, want %s", got, want)
	}
}

// R3.14, R4.4: whatever the machine's clock shows, the operator's is the API server's.
func TestReplicasWhoseClocksDifferShowTheSameTime(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{0, time.Minute, -time.Minute, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 8760 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			right := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC))
			server := apiServer{right.Now}
			first, second := apiclock.New(right), apiclock.New(clocktesting.NewFakeClock(right.Now().Add(skew)))
			ask(t.Context(), t, first.Wrap(server))
			ask(t.Context(), t, second.Wrap(server))
			checkTime(t, first, right.Now())
			checkTime(t, second, right.Now())
			if ahead, known := second.Ahead(); !known || (ahead+skew).Abs() > about {
				t.Errorf("the API server is %s ahead of a machine that is %s ahead of it", ahead, skew)
			}
			if since := second.Since(right.Now().Add(-time.Hour)); (since - time.Hour).Abs() > about {
				t.Errorf("an hour ago is %s ago", since)
			}
		})
	}
}

func TestBeforeAnyAnswerTheMachinesClockCounts(t *testing.T) {
	t.Parallel()
	local := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	clock := apiclock.New(local)
	ask(t.Context(), t, clock.Wrap(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })))
	local.Step(time.Minute)
	if _, known := clock.Ahead(); known || !clock.Now().Equal(local.Now()) {
		t.Errorf("the clock shows %s, want %s", clock.Now(), local.Now())
	}
}

// R3.14: time passes on the operator's clock as it passes, between answers too; and so it does by the clock of a real machine.
func TestTimePassesBetweenAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := apiclock.New(inBubble{})
		ask(t.Context(), t, clock.Wrap(apiServer{func() time.Time { return time.Now().Add(-time.Hour) }}))
		<-clock.After(90 * time.Minute)
		checkTime(t, clock, time.Now().Add(-time.Hour))
		fired := false
		clock.AfterFunc(time.Hour, func() { fired = true })
		clock.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if !fired {
			t.Error("the timer did not fire in its time")
		}
		checkTime(t, clock, time.Now().Add(-time.Hour))
	})
}

// inBubble is a real clock that does not look beyond its bubble.
type inBubble struct{ clock.RealClock }

// R3.14: a real machine's clock is followed to within the same.
func TestARealMachine(t *testing.T) {
	t.Parallel()
	machine := apiclock.New(clock.RealClock{})
	ask(t.Context(), t, machine.Wrap(apiServer{func() time.Time { return time.Now().Add(time.Hour) }}))
	checkTime(t, machine, time.Now().Add(time.Hour))
}

// R3.14: an operator with nothing to do asks now and then, one that hears the API server anyway does not, and one that is in doubt
// asks until it is not.
func TestItKeepsHearingTheAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var skew atomic.Int64
		var asked, told atomic.Int32
		clock := apiclock.New(inBubble{})
		way := clock.Wrap(apiServer{func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			clock.Keep(ctx, func(ctx context.Context) error {
				asked.Add(1)
				ask(ctx, t, way)
				return nil
			}, func(time.Duration) { told.Add(1) })
		}()
		synctest.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times at first", asked.Load())
		}
		time.Sleep(10 * time.Minute)
		if got := asked.Load(); got < 15 || got > 25 {
			t.Errorf("asked %d times in ten idle minutes", got)
		}
		before := asked.Load()
		for range 60 { // others ask
			time.Sleep(10*time.Second + time.Millisecond)
			ask(t.Context(), t, way)
		}
		if got := asked.Load() - before; got > 1 {
			t.Errorf("asked %d times in ten busy minutes", got)
		}
		skew.Store(int64(-time.Hour))
		time.Sleep(time.Minute)
		synctest.Wait()
		checkTime(t, clock, time.Now().Add(-time.Hour))
		if told.Load() != 1 {
			t.Errorf("told %d times of one difference", told.Load())
		}
		cancel()
		<-ended
	})
}

// R5.4: it is known for how long the API server has answered nothing; that it was asked is no answer.
func TestItIsKnownForHowLongTheAPIServerIsSilent(t *testing.T) {
	t.Parallel()
	local := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	clock := apiclock.New(local)
	check := func(want time.Duration) {
		t.Helper()
		if got := clock.Silence().Round(time.Second); got != want {
			t.Errorf("it is silent for %s, want %s", got, want)
		}
	}
	local.Step(5 * time.Second)
	check(5 * time.Second) // since the start
	ask(t.Context(), t, clock.Wrap(apiServer{local.Now}))
	check(0)
	local.Step(time.Minute)
	ask(t.Context(), t, clock.Wrap(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody is there") })))
	check(time.Minute)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable} {
		ask(t.Context(), t, clock.Wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
		})))
		check(time.Minute)
	}
	ask(t.Context(), t, clock.Wrap(apiServer{func() time.Time { return local.Now().Add(-24 * time.Hour) }}))
	check(0)
}

// R3.14: one answer that is wrong, or comes late, is not followed.
func TestOneWrongAnswerIsNotFollowed(t *testing.T) {
	t.Parallel()
	local := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	clock := apiclock.New(local)
	ask(t.Context(), t, clock.Wrap(apiServer{local.Now}))
	ask(t.Context(), t, clock.Wrap(apiServer{func() time.Time { return local.Now().Add(8760 * time.Hour) }}))
	checkTime(t, clock, local.Now())
	ask(t.Context(), t, clock.Wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := apiServer{local.Now}.RoundTrip(r)
		local.Step(5 * time.Minute) // it is on its way
		return answer, err
	})))
	checkTime(t, clock, local.Now())
}

// client-go finds what is behind it.
func TestItCanBeUnwrapped(t *testing.T) {
	t.Parallel()
	next := apiServer{time.Now}
	wrapped := apiclock.New(clock.RealClock{}).Wrap(next)
	if unwrap, ok := wrapped.(interface{ WrappedRoundTripper() http.RoundTripper }); !ok || unwrap.WrappedRoundTripper() == nil {
		t.Error("it hides what is behind it")
	}
}
