// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flight_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feed-operator/feed-operator/internal/dashboard/flight"
)

// R5.4: one call is made for all who want the same; that one of them goes away ends it for nobody else, nor does it last for ever.
func TestOneCallIsMadeForAllWhoWaitForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group flight.Group[int]
		calls := 0
		ask := func(ctx context.Context) (int, error) {
			return group.Do(ctx, "same", 10*time.Second, func(ctx context.Context) (int, error) {
				calls++
				select {
				case <-time.After(5 * time.Second):
					return 7, nil
				case <-ctx.Done():
					return 0, ctx.Err()
				}
			})
		}
		first, goes := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := ask(first); !errors.Is(err, context.Canceled) {
				t.Errorf("who goes away: %v", err)
			}
		})
		synctest.Wait()
		for range 10 {
			all.Go(func() {
				if got, err := ask(t.Context()); got != 7 || err != nil {
					t.Errorf("%d, %v", got, err)
				}
			})
		}
		time.Sleep(time.Second)
		goes()
		all.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
		_, err := group.Do(t.Context(), "other", time.Second, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that never ends: %v", err)
		}
	})
}

// R6.2: what panics while a page is made ends that page, and not the operator.
func TestACallThatPanicsIsAnError(t *testing.T) {
	t.Parallel()
	var group flight.Group[int]
	_, err := group.Do(t.Context(), "", time.Minute, func(context.Context) (int, error) { panic("no such thing") })
	if err == nil || !strings.Contains(err.Error(), "no such thing") || !strings.Contains(err.Error(), "flight_test.go") {
		t.Errorf("error %v", err)
	}
	if got, err := group.Do(t.Context(), "", time.Minute, func(context.Context) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("the next call: %d, %v", got, err)
	}
}
