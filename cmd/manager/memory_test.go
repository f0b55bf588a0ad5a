// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
)

// R6.3: what was needed to fill the cache, also that of a standby, is given back once it is full, and not before.
func TestTheMemoryOfTheStartIsGivenBackWhenTheCacheIsFull(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		full bool
		want int
	}{
		"full":             {full: true, want: 1},
		"stopped too soon": {full: false, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			freed := 0
			memory := startMemory{&informertest.FakeInformers{Synced: &test.full}, func() { freed++ }}
			if err := memory.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if freed != test.want {
				t.Errorf("freed %d times, want %d", freed, test.want)
			}
			if memory.NeedLeaderElection() {
				t.Error("a standby, which has a cache as well, does not do it")
			}
		})
	}
}
