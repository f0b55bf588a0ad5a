// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package peerclock_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/peerclock"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// about is how exactly a difference is known.
const about = 2 * time.Second

// exchange is a request and its answer, in times of one's own clock.
type exchange struct {
	at, took time.Duration
	// ahead is how far the clock of who answered is ahead.
	ahead time.Duration
	// written is when, of the time that it took, the head of the answer was written.
	written time.Duration
}

func (e exchange) meet(d *peerclock.Difference) {
	sent := noon.Add(e.at)
	date := sent.Add(e.written + e.ahead).Truncate(time.Second)
	d.Answered(sent, sent.Add(e.took), http.StatusOK, headerOf("Date", date.Format(http.TimeFormat)))
}

func headerOf(fields ...string) http.Header {
	header := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		header.Set(fields[i], fields[i+1])
	}
	return header
}

// head is that of an answer.
type head struct {
	status int
	header http.Header
}

func checkDifference(t interface {
	Helper()
	Errorf(string, ...any)
}, d *peerclock.Difference, want time.Duration,
) {
	t.Helper()
	got, known := d.Value()
	if !known || (got-want).Abs() > about {
		t.Errorf("difference %s (known: %t), want %s", got, known, want)
	}
	if least, _ := d.Least(); least > want {
		t.Errorf("at least %s, and it is %s", least, want)
	}
}

// R3.14, R4.4: the clock of another server is known by the Date of its answers.
func TestTheClockOfAServerIsKnownByItsAnswers(t *testing.T) {
	t.Parallel()
	quick := func(ahead time.Duration) exchange { return exchange{ahead: ahead, took: 20 * time.Millisecond} }
	times := func(n int, e exchange) (all []exchange) {
		for range n {
			all = append(all, e)
		}
		return all
	}
	for name, test := range map[string]struct {
		answers []exchange
		want    time.Duration
	}{
		"the same clock":                       {times(1, quick(0)), 0},
		"a day ahead":                          {times(1, quick(24*time.Hour)), 24 * time.Hour},
		"an hour behind":                       {times(1, quick(-time.Hour)), -time.Hour},
		"one wrong answer":                     {append(times(1, quick(0)), quick(time.Hour)), 0},
		"wrong answers, but not in a row":      {[]exchange{quick(0), quick(time.Hour), quick(time.Hour), quick(0), quick(time.Hour)}, 0},
		"wrong answers that do not agree":      {[]exchange{quick(0), quick(time.Hour), quick(2 * time.Hour), quick(time.Hour), quick(2 * time.Hour)}, 0},
		"the first one was wrong":              {append(times(1, quick(time.Hour)), times(3, quick(0))...), 0},
		"the server's clock was set":           {append(times(9, quick(0)), times(3, quick(-70*time.Second))...), -70 * time.Second},
		"an answer that took minutes":          {append(times(1, quick(time.Hour)), exchange{ahead: time.Hour, took: 5 * time.Minute, written: time.Minute}), time.Hour},
		"answers that always take a minute":    {append(times(1, quick(time.Hour)), times(9, exchange{ahead: time.Hour, took: time.Minute})...), time.Hour},
		"the first one took minutes":           {append(times(1, exchange{took: 5 * time.Minute}), times(3, quick(0))...), 0},
		"a second's part is no reason to jump": {append(times(1, quick(0)), times(9, quick(900*time.Millisecond))...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known peerclock.Difference
			for _, answer := range test.answers {
				answer.meet(&known)
			}
			checkDifference(t, &known, test.want)
		})
	}
}

// R3.14, R1.3: a machine that keeps the server's time takes its own for it, at whatever part of a second the first answer comes: else what is due would be done up
// to half a second early or late, by each replica in its own way.
func TestWhoKeepsTheServersTimeIsNeitherAheadNorBehind(t *testing.T) {
	t.Parallel()
	const took = 20 * time.Millisecond
	for part := took; part < time.Second-took; part += took {
		var known peerclock.Difference
		exchange{at: part, took: took, written: took / 2}.meet(&known)
		if got, is := known.Value(); got != 0 || !is {
			t.Errorf("after an answer at %s of a second: %s", part, got)
		}
	}
}

// R3.14: however slow the answers are, and at whatever part of a second they come, the difference does not wander.
func TestTheDifferenceDoesNotWander(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]time.Duration{2 * time.Second, 48 * time.Hour}).Draw(t, "most") // also nearly the same time
		ahead := time.Duration(rapid.Int64Range(int64(-most), int64(most)).Draw(t, "ahead"))
		var known peerclock.Difference
		var last time.Duration
		for i := range rapid.IntRange(1, 50).Draw(t, "answers") {
			took := time.Duration(rapid.Int64Range(0, int64(500*time.Millisecond)).Draw(t, "took"))
			exchange{
				at: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at")), took: took, ahead: ahead,
				written: time.Duration(rapid.Int64Range(0, int64(took)).Draw(t, "written")),
			}.meet(&known)
			checkDifference(t, &known, ahead)
			now, _ := known.Value()
			if i > 0 && now != last {
				t.Fatalf("the difference has gone from %s to %s", last, now)
			}
			last = now
		}
	})
}

func TestWhatSaysNothingOfTheClock(t *testing.T) {
	t.Parallel()
	far := noon.Add(time.Hour).Format(http.TimeFormat)
	for name, answer := range map[string]head{
		"no Date":              {200, headerOf()},
		"a Date that is none":  {200, headerOf("Date", "soon")},
		"a gateway's error":    {502, headerOf("Date", far)},
		"an answer of a cache": {200, headerOf("Date", far, "Age", "3600")},
		"the year 9999":        {200, headerOf("Date", "Fri, 31 Dec 9999 23:59:59 GMT")},
		"the year 1":           {200, headerOf("Date", "Mon, 01 Jan 0001 00:00:00 GMT")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known peerclock.Difference
			known.Answered(noon, noon, answer.status, answer.header)
			if ahead, is := known.Value(); is {
				t.Errorf("difference %s", ahead)
			}
			if _, is := known.Least(); is {
				t.Error("something is known")
			}
		})
	}
	t.Run("one's own clock went back meanwhile", func(t *testing.T) {
		t.Parallel()
		var known peerclock.Difference
		known.Answered(noon, noon.Add(-time.Hour), http.StatusOK, headerOf("Date", far))
		if ahead, is := known.Value(); is {
			t.Errorf("difference %s", ahead)
		}
	})
	for name, answer := range map[string]head{
		"a refusal says it too":           {403, headerOf("Date", far)},
		"and what a cache has just asked": {200, headerOf("Date", far, "Age", "0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known peerclock.Difference
			known.Answered(noon, noon, answer.status, answer.header)
			checkDifference(t, &known, time.Hour)
		})
	}
}

// R4.4: what a server did before its clock was set is looked for by the clock that it had then.
func TestWhileInDoubtTheEarlierClockCounts(t *testing.T) {
	t.Parallel()
	var known peerclock.Difference
	exchange{}.meet(&known)
	exchange{ahead: -time.Hour}.meet(&known)
	if least, _ := known.Least(); !known.Doubted() || least > -time.Hour || least < -time.Hour-about {
		t.Errorf("at least %s, in doubt: %t", least, known.Doubted())
	}
	exchange{}.meet(&known)
	if least, _ := known.Least(); known.Doubted() || least < -about {
		t.Errorf("at least %s, in doubt: %t", least, known.Doubted())
	}
}

func TestManyMayLearnAtOnce(t *testing.T) {
	t.Parallel()
	var known peerclock.Difference
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				exchange{ahead: time.Hour, took: time.Duration(i) * time.Millisecond}.meet(&known)
				_, _ = known.Value()
				_, _ = known.Least()
			}
		})
	}
	all.Wait()
	checkDifference(t, &known, time.Hour)
}
