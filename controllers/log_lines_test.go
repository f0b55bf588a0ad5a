// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// untilLogged waits for lines of one logger that are meant, while time passes, and returns them.
func (w *world) untilLogged(log *logged, logger string, n int, meant func(*logLine) bool) []logLine {
	w.t.Helper()
	var found []logLine
	await(w.t, func() error {
		found = slices.DeleteFunc(log.lines(w.t, logger), func(line logLine) bool { return !meant(&line) })
		if len(found) < n {
			w.clock.Step(time.Second)
			return fmt.Errorf("%d lines, want %d", len(found), n)
		}
		return nil
	})
	return found
}

func says(message string) func(*logLine) bool {
	return func(line *logLine) bool { return line.Message == message }
}

// queueWorld is a world with three items that wait for a provider, which provide makes.
func queueWorld(t *testing.T) (w *world, log *logged, provide func()) {
	t.Helper()
	w, log = loggingWorld(t)
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), summarizedBy("later"))
	w.untilItems("news", eachOf(3, waitsFor("later")))
	return w, log, func() {
		w.provider("later", func(*v1alpha1.AIProvider) {})
		w.untilItems("news", allProcessed(3))
	}
}

// R5.5: the size of the queue is logged when it changes, and only then: not when items fail and stay in it.
func TestTheSizeOfTheQueueIsLoggedWhenItChanges(t *testing.T) {
	t.Parallel()
	log := &logged{}
	var mended atomic.Bool
	told := make(chan struct{}) // that there are three, before any of them fails
	shaky := &script{answer: func(_ int, request provider.Request) (provider.Response, error) {
		<-told
		if !mended.Load() {
			return provider.Response{}, failure.New(v1alpha1.CategoryUnknown, "", "It failed on purpose.") // which is not repeated in place
		}
		return written(request), nil
	}}
	w := scriptedWorld(t, map[string]*script{"shaky": shaky}, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	changed := func(size int) func(*logLine) bool {
		return func(line *logLine) bool { return line.Message == "Queue size changed" && line.Size == size }
	}
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), summarizedBy("shaky"))
	tell := sync.OnceFunc(func() { close(told) })
	t.Cleanup(tell) // whatever happens
	w.untilLogged(log, "queue", 1, changed(3))
	tell()
	deferred := eachOf(3, inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed))
	w.untilItems("news", deferred)
	for range 20 { // of which each has what has changed looked at, and of which one at least is after the cache has heard of it
		w.clock.Step(time.Second)
		w.untilItems("news", deferred)
	}
	mended.Store(true)
	w.untilEnded("news", 3)
	w.untilLogged(log, "queue", 1, changed(0))
	last := -1
	for _, line := range log.lines(t, "queue") {
		if line.Message != "Queue size changed" {
			continue
		}
		if line.Size == last || line.Level != "info" || line.Severity != "" {
			t.Errorf("after %d: %+v", last, line)
		}
		last = line.Size
	}
}

// R5.5: once a minute, while items end, it is logged how many were processed, succeeded and failed; without activity it is not.
func TestWorkIsLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	w, log, provide := queueWorld(t)
	provide()
	worked := w.untilLogged(log, "queue", 1, says("Items processed"))
	if line := worked[0]; line.Processed != 3 || line.Succeeded != 3 || line.Failed != 0 || line.ProcessedInTotal != 3 {
		t.Errorf("line %+v", line)
	}
	for range 5 {
		w.clock.Step(time.Minute)
	}
	w.stop() // which logs what was not logged yet
	if lines := w.untilLogged(log, "queue", 1, says("Items processed")); len(lines) != 1 {
		t.Errorf("%d lines of the work of one minute", len(lines))
	}
}

// R5.5: a line says that the queue of a source has become empty.
func TestASourceWhoseQueueBecomesEmptyIsLogged(t *testing.T) {
	t.Parallel()
	w, log, provide := queueWorld(t)
	provide()
	lines := w.untilLogged(log, "queue", 1, says("Source queue empty"))
	if len(lines) != 1 || lines[0].Source != w.namespace+"/news" || lines[0].Level != "info" {
		t.Errorf("lines %+v", lines)
	}
}

// R5.5, R4.2: of each delivery a line says that it was sent, was a duplicate (a warning), was spooled and resent, or is dead (an error).
func TestWhatBecomesOfADeliveryIsLogged(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	answers := map[string]func(requests int32) int{
		"sent":       func(int32) int { return http.StatusOK },
		"duplicate":  func(int32) int { return http.StatusConflict },
		"duplicates": func(int32) int { return http.StatusConflict }, // of a batch
		"resent": func(requests int32) int {
			if requests == 1 {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		},
		"dead": func(int32) int { return http.StatusBadRequest },
	}
	names := []string{"sent", "duplicate", "duplicates", "resent", "dead"}
	for _, name := range names {
		server := webhooktest.New(webhooktest.Options{})
		t.Cleanup(server.Close)
		var requests atomic.Int32
		server.OnRequest(func(p *webhooktest.Pending) bool {
			p.Answer(answers[name](requests.Add(1)), "text/plain", "")
			return true
		})
		w.webhookTo(name, server.URL, func(described *v1alpha1.FeedDestination) {
			if name == "duplicates" {
				inBatches(1, time.Second)(described)
			}
		})
	}
	w.source("news", web.FeedURL(), postsTo(names...))
	w.untilEnded("news", 1)
	lines := w.untilLogged(log, "stream", 6, func(line *logLine) bool { return line.Stage == "deliver" && line.Type == "stage.ended" })
	slices.SortStableFunc(lines, func(x, y logLine) int { return slices.Index(names, x.Object) - slices.Index(names, y.Object) })
	if diff := cmp.Diff([]string{
		"stage.ended success deliver sent 0/10: Post sent",
		"stage.ended success deliver duplicate warning 0/10: Duplicate data detected: the receiver had it already",
		"stage.ended success deliver duplicates warning 0/10: Duplicate data detected: the receiver had it already",
		"stage.ended retrying deliver resent API 0/10 again: Post spooled",
		"stage.ended success deliver resent 1/10: Post resent",
		"stage.ended failed deliver dead error Validation 0/10: Post given up",
	}, short(lines)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if strings.Count(log.text(), "Duplicate data detected: the receiver had it already") != 2 {
		t.Error("a duplicate is not logged once")
	}
}

// R5.5: success after a retry is logged as such.
func TestSuccessAfterARetryIsLogged(t *testing.T) {
	t.Parallel()
	log := &logged{}
	shaky := &script{answer: failsFor(1, v1alpha1.CategoryUnknown)} // which is not repeated in place
	w := scriptedWorld(t, map[string]*script{"shaky": shaky}, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("shaky"))
	w.untilEnded("news", 1)
	lines := w.untilLogged(log, "stream", 2, func(line *logLine) bool { return line.Stage == "summarize" && line.Type == "stage.ended" })
	if diff := cmp.Diff([]string{
		"stage.ended retrying summarize shaky APIFailed Unknown 0/5 again: Attempt failed, will retry",
		"stage.ended success summarize shaky 1/5: Summarized after a retry",
	}, short(lines)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// R5.5, R3.6: it is logged which provider has succeeded after a fallback, and from whom: with a verdict, and with a summary.
func TestWhoSucceedsAfterAFallbackIsLogged(t *testing.T) {
	t.Parallel()
	log := &logged{}
	refuses := func() *script { return &script{answer: failsFor(1000, v1alpha1.CategoryValidation)} }
	w := scriptedWorld(t, map[string]*script{"no-judge": refuses(), "judge": {}, "no-writer": refuses(), "writer": {}},
		func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("no-writer", "writer"), screenedBy("All news"), judgedBy("no-judge", "judge"))
	w.untilEnded("news", 1)
	lines := w.untilLogged(log, "stream", 2, func(line *logLine) bool {
		return (line.Stage == "summarize" || line.Stage == "screen") && line.Type == "stage.ended"
	})
	got := make([]string, 0, len(lines))
	for _, line := range lines {
		got = append(got, fmt.Sprintf("%s: %s, not %v", line.Message, line.Object, line.FallbackFrom))
	}
	if diff := cmp.Diff([]string{
		"Article found worth a summary: judge, not [no-judge]", "Summarized by a fallback: writer, not [no-writer]",
	}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// R5.5, R3.10: each item that fails for good is a warning, for whatever reason.
func TestEachPermanentFailureIsAWarning(t *testing.T) {
	t.Parallel()
	log := &logged{}
	w := scriptedWorld(t, map[string]*script{
		"refused": {answer: failsFor(1000, v1alpha1.CategoryAuth)}, "wrong": {answer: failsFor(1000, v1alpha1.CategoryValidation)},
		"unknown": {answer: failsFor(1000, v1alpha1.CategoryUnknown)},
	}, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	want := map[string]string{}
	for name, reason := range map[string]v1alpha1.Reason{
		"refused": v1alpha1.ReasonAuthenticationFailed, "wrong": v1alpha1.ReasonInvalidConfiguration, "unknown": v1alpha1.ReasonRetryLimitExceeded,
	} {
		web := feedtest.New(t)
		web.List(web.Entries(name, 2)...)
		w.source(name, web.FeedURL(), summarizedBy(name))
		for _, item := range w.untilEnded(name, 2) {
			want[item.Namespace+"/"+item.Name] = "warning " + string(reason)
		}
	}
	got := map[string]string{}
	for _, line := range w.untilLogged(log, "stream", 6, says("Item failed for good")) {
		if got[line.Item] != "" {
			t.Errorf("%s has failed twice", line.Item)
		}
		got[line.Item] = line.Severity + " " + line.Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}
