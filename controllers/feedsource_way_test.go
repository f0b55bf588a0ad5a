// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// Whoever follows a source from its reconcile to the item of a new entry, or to what is written on the source, passes few functions of this
// project.
func TestAPollsWayInHasFewStops(t *testing.T) {
	t.Parallel()
	const most = 20
	w := newWorld(t)
	var mu sync.Mutex
	ways := map[string][]string{}
	w.faults.on(func(r *http.Request) *metav1.Status {
		what := ""
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feeditems"):
			what = "an item is made"
		case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/feedsources/"):
			what = "the source is written"
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feedmemories"):
			what = "the memory is written"
		default:
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		ways[what] = stopsSoFar()
		return nil
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(1))
	w.untilSource("news", readsWith(v1alpha1.ItemCounts{Processed: 1}))
	w.faults.on(nil)
	mu.Lock()
	defer mu.Unlock()
	if len(ways) != 3 {
		t.Fatalf("only these ways were gone: %v", ways)
	}
	for what, stops := range ways {
		t.Logf("%d stops until %s: %s", len(stops), what, strings.Join(stops, " → "))
		if len(stops) == 0 || len(stops) > most {
			t.Errorf("%d stops until %s", len(stops), what)
		}
	}
}

// stopsSoFar names the functions of this project that have called, one another, what calls this, the first one first.
func stopsSoFar() (stops []string) {
	const module = "github.com/feed-operator/feed-operator/"
	callers := make([]uintptr, 200)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		if name, ours := strings.CutPrefix(frame.Function, module); ours && !strings.HasSuffix(frame.File, "_test.go") {
			stops = append([]string{name}, stops...)
		}
		if !more {
			return stops
		}
	}
}
