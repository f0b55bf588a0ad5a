// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// R5.4: a place is waited for and given back; nobody has more than their share, and who does not wait any longer has none.
func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := New(3, 2)
		take := func(tenant string) func() {
			leave, err := of.Take(t.Context(), tenant, time.Second)
			if err != nil && !errors.Is(err, ErrCrowded) {
				t.Error(err)
			}
			return leave
		}
		first, second := take("a"), take("a")
		if take("a") != nil {
			t.Error("it has more than its share")
		}
		third := take("b")
		if third == nil || take("") != nil {
			t.Error("there are fewer or more places than three")
		}
		for tenant, want := range map[string]bool{"a": false, "b": false, "": false} {
			if leave, err := of.Try(tenant); (err == nil) != want || want == (leave == nil) {
				t.Errorf("a place for %q at once: %v", tenant, err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := of.Take(gone, "c", time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone: %v", err)
		}
		waits := make(chan func())
		go func() { waits <- take("c") }()
		synctest.Wait()
		first()
		last := <-waits
		if last == nil {
			t.Fatal("what is given back is not taken")
		}
		second()
		second, err := of.Try("b")
		if err != nil {
			t.Fatalf("what is given back is not taken at once: %v", err)
		}
		if _, err := of.Try("b"); !errors.Is(err, ErrCrowded) {
			t.Errorf("more than all there are, and than the share of one: %v", err)
		}
		for _, leave := range []func(){second, third, last} {
			leave()
		}
		if len(of.shares) > 0 {
			t.Errorf("it remembers %d tenants who need nothing", len(of.shares))
		}
	})
}
