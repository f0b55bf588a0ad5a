// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/polling"
)

func TestEachFeedOfACrowdIsAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != linux {
		t.Skip("only Linux answers on all of 127.0.0.0/8")
	}
	hosts, err := serveHosts(t.Context(), 70_000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hosts.close)
	hosts.publish(news.Entries("crowd", 2))
	number := hosts.more()
	if number != 70_000 {
		t.Fatalf("the next host has the number %d", number)
	}

	ask := func(number int, etag string) (status int, validator string, size int) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, hosts.url(number), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("If-None-Match", etag)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header.Get("ETag"), len(body)
	}
	for _, number := range []int{0, 1, 300, number} {
		if status, _, size := ask(number, ""); status != http.StatusOK || size == 0 {
			t.Errorf("host %d answers %d with %d bytes", number, status, size)
		}
	}
	_, etag, _ := ask(0, "")
	for name, want := range map[answers]int{notModified: http.StatusNotModified, sameETag: http.StatusOK, sameBody: http.StatusOK} {
		hosts.answer(name)
		status, validator, _ := ask(1, etag)
		if status != want || (validator == "") != (name == sameBody) {
			t.Errorf("answers %d: status %d with the validator %q", name, status, validator)
		}
	}
	if total := hosts.total(); total != 8 {
		t.Errorf("%d requests are counted, want 8", total)
	}
	times := hosts.times()
	if got := []int{len(times[0]), len(times[1]), len(times[2]), len(times[300]), len(times[number])}; !cmp.Equal(got, []int{2, 4, 0, 1, 1}) {
		t.Errorf("requests by host: %v", got)
	}
	if status, _, _ := ask(number+1, ""); status != http.StatusNotFound {
		t.Errorf("a host that is none answers %d", status)
	}
}

func TestPollsAreHeldAgainstTheirSlots(t *testing.T) {
	t.Parallel()
	const uid = "0b0d7f8e"
	slot := polling.NextSlot(uid, pollInterval, time.Now())
	after := func(intervals int, late time.Duration) time.Time {
		return slot.Add(time.Duration(intervals)*pollInterval + late)
	}
	stopped, end := after(0, 10*time.Second), after(3, 20*time.Second)
	before := after(0, time.Millisecond)
	tests := map[string]struct {
		polls []time.Time
		want  verdicts
	}{
		"each slot has its poll": {
			polls: []time.Time{before, after(1, 3*time.Millisecond), after(2, time.Millisecond), after(3, 2*time.Millisecond)},
			want:  verdicts{polls: 3, margin: time.Millisecond, late: 3 * time.Millisecond},
		},
		"a poll again at the start": {
			polls: []time.Time{before, after(0, 20*time.Second), after(1, 2*time.Millisecond), after(2, 2*time.Millisecond), after(3, 2*time.Millisecond)},
			want:  verdicts{polls: 4, early: 1, margin: 2 * time.Millisecond, late: 2 * time.Millisecond},
		},
		"a poll just before its slot": {
			polls: []time.Time{before, after(1, -time.Millisecond), after(2, 0), after(3, 0)},
			want:  verdicts{polls: 3, early: 1, missed: 1}, // in the slot itself there is none
		},
		"a slot without a poll": {
			polls: []time.Time{before, after(1, 0), after(3, 0)},
			want:  verdicts{polls: 2, missed: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p punctuality
			test.polls[1] = test.polls[1].Round(0) // as one that was read from another clock
			p.add(uid, test.polls, stopped)
			got := p.judge(end, time.Second)
			got.lateness = nil
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(verdicts{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
