// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	manager "github.com/feed-operator/feed-operator/cmd/manager"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R6.3: a replica that is given shards and gives them up, for months, leaves nothing behind of those that it had: no goroutine, nobody who hears of the cache, and no
// gauge of work. (What waited in a queue that was given up stays in workqueue_depth, which is not the operator's own: docs/metrics.md says so.)
func TestNothingIsLeftOfShardsThatWereGivenUp(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it is the number of times that shows what is left")
	const shards = 4
	room := newNewsroom(t, counterparts[ignoresKeys])
	room.addFeed(t)
	label := "of " + room.namespace
	pprof.Do(t.Context(), pprof.Labels("test", label), func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		process, operator, err := manager.NewProcess(ctx, server.Config, shards, room.namespace)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- process.Start(ctx) }()
		if !process.GetCache().WaitForCacheSync(ctx) {
			t.Fatal("the cache is not filled")
		}
		pass := func(times int) {
			for i := range times {
				working, stop := context.WithCancel(ctx)
				one, err := operator(working, i%shards)
				if err != nil {
					t.Fatal(err)
				}
				over := make(chan error, 1)
				go func() { over <- one.Start(working) }()
				select {
				case <-one.Elected():
				case <-time.After(patience):
					t.Fatal("it does not begin")
				}
				stop()
				if err := <-over; err != nil {
					t.Fatal(err)
				}
			}
		}
		pass(2 * shards)
		before := goroutinesOf(t, label)
		pass(200)
		apitest.Eventually(t, func(context.Context) error { //nolint:contextcheck // it waits as long as the test may
			if now := goroutinesOf(t, label); now > before+5 { // connections to the API server come and go
				return fmt.Errorf("%d goroutines, and before there were %d", now, before)
			}
			return nil
		})
		t.Logf("%d goroutines after the first hand-overs, %d after the last", before, goroutinesOf(t, label))
		families, err := crmetrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if metric.GetGauge().GetValue() != 0 && family.GetName() == "controller_runtime_active_workers" {
					t.Errorf("%s of %v is %v, and nobody works", family.GetName(), metric.GetLabel(), metric.GetGauge().GetValue())
				}
			}
		}
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// goroutinesOf counts those that were begun under a label.
func goroutinesOf(t *testing.T, label string) (count int) {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	var many int
	for line := range strings.Lines(profile.String()) {
		if n, _ := fmt.Sscanf(line, "%d @", &many); n == 1 {
			continue
		}
		if strings.HasPrefix(line, "# labels:") && strings.Contains(line, label) {
			count += many
		}
	}
	return count
}
