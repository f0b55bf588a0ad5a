// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"context"
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
		record.Last(stopped, all, func(one string) string { namespace, _, _ := strings.Cut(one, "/"); return namespace }, func(ctx context.Context, one string) {
			if strings.HasPrefix(one, "stuck/") {
				tried++
				<-ctx.Done()
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				written = append(written, one)
			}
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
