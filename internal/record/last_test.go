// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/record"
)

// R6.3, R3.13: the operator stops while the API server does not answer for one namespace, of which much is to be written. That is waited for once, and
// all that is of the others is written, however many they are, though the stop has ended the context.
func TestAStopWaitsOnceForANamespaceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const namespaces, longest = 40, 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		var all, want []string
		for i := range namespaces {
			all = append(all, fmt.Sprintf("stuck/%d", i))
			for _, name := range []string{"a", "b"} {
				want = append(want, fmt.Sprintf("fine-%d/%s", i, name))
			}
		}
		all = append(all, want...)
		var mu sync.Mutex
		var written []string
		tried := 0
		stopped, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		record.Last(stopped, all, namespaceOf, func(ctx context.Context, one string) error {
			if strings.HasPrefix(one, "stuck/") {
				tried++
				ctx, cancel := record.Lasting(ctx, time.Minute)
				defer cancel()
				<-ctx.Done()
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				written = append(written, one)
			}
			return ctx.Err()
		})
		if took := time.Since(began); took > longest || tried != 1 {
			t.Errorf("the stop has waited for %s, and what does not answer was asked %d times", took, tried)
		}
		slices.Sort(written)
		slices.Sort(want)
		if diff := cmp.Diff(want, written); diff != "" {
			t.Errorf("written (-want +got)\n%s", diff)
		}
	})
}

func namespaceOf(one string) string {
	namespace, _, _ := strings.Cut(one, "/")
	return namespace
}

// R6.3, R3.13: the operator stops while the API server refuses what is of one namespace, and each refusal takes its time. What is in vain is bounded for all of
// the namespace together; what is taken is not, however slowly.
func TestAStopDoesNotTryEachOfANamespaceThatIsRefused(t *testing.T) {
	t.Parallel()
	const each, refusal, slow, longest = 100, 5700 * time.Millisecond, 400 * time.Millisecond, 10 * time.Second
	for name, test := range map[string]struct {
		refused func(i int) bool
		most    time.Duration
		written int
	}{
		"all are refused":   {func(int) bool { return true }, longest, 0},
		"none is refused":   {func(int) bool { return false }, each * slow, each},
		"the first is":      {func(i int) bool { return i == 0 }, refusal + each*slow, each - 1},
		"the second one is": {func(i int) bool { return i == 1 }, refusal + each*slow, each - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var all []string
				for i := range each {
					all = append(all, fmt.Sprintf("a/%d", i))
				}
				written := 0
				began := time.Now()
				record.Last(t.Context(), all, namespaceOf, func(ctx context.Context, one string) error {
					takes, err := slow, error(nil)
					if test.refused(slices.Index(all, one)) {
						takes, err = refusal, errors.New("no")
					}
					ctx, cancel := record.Context(ctx) // as all do who write
					defer cancel()
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(takes):
					}
					if err == nil {
						written++
					}
					return err
				})
				if took := time.Since(began); took > test.most || written != test.written {
					t.Errorf("%d were written in %s, want %d in %s", written, took, test.written, test.most)
				}
			})
		})
	}
}
