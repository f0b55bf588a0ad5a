// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestInterval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		perMinute int
		want      time.Duration
	}{
		"no limit has no interval":              {0, 0},
		"nonsense is no limit":                  {-5, 0},
		"10 a minute is one in 6.186 s":         {10, 6185567010 * time.Nanosecond},
		"100,000 a minute is one in 0.6 ms":     {100_000, 618556 * time.Nanosecond},
		"one a minute waits 3 % more than that": {1, 61855670103 * time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Limit{PerMinute: test.perMinute}).interval(); got != test.want {
				t.Errorf("got %d ns, want %d ns", got, test.want)
			}
		})
	}
}

// R4.5: a destination is paced by the time between two posts, a provider by calls a minute; of
// both the slower one counts.
func TestIntervalBetweenCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit Limit
		want  time.Duration
	}{
		"a time is kept as it is":        {Limit{Every: 90 * time.Second}, 90 * time.Second},
		"nonsense is no limit":           {Limit{Every: -time.Second}, 0},
		"the time is the slower one":     {Limit{PerMinute: 60, Every: time.Minute}, time.Minute},
		"calls a minute are the slower":  {Limit{PerMinute: 1, Every: time.Second}, 61855670103 * time.Nanosecond},
		"nonsense slows no calls a time": {Limit{PerMinute: 10, Every: -time.Hour}, 6185567010 * time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.limit.interval(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestLimitInWords(t *testing.T) {
	t.Parallel()
	for want, limit := range map[string]Limit{
		"10 a minute":   {PerMinute: 10, Concurrent: 4},
		"one every 30s": {Every: 30 * time.Second, Concurrent: 1},
	} {
		if got := limit.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	inBubble(t, func(b *bench) {
		b.Configure(mastodon, Limit{Every: 30 * time.Second})
		b.gets(b.Enter("a"), Rank{}, mastodon).Done()
		if _, _, got := b.Wait(mastodon); got != "destination news/mastodon has had its calls for now (one every 30s)" {
			t.Errorf("why it is waited for: %q", got)
		}
	})
}

// A restart is no reason to post sooner than the pace allows.
func TestResumeKeepsThePaceOverARestart(t *testing.T) {
	t.Parallel()
	const every = time.Minute
	for name, test := range map[string]struct {
		limit     Limit
		ago       time.Duration
		wantAfter time.Duration
	}{
		"a call that was just begun":           {Limit{Every: every}, 0, every},
		"one that was begun a while ago":       {Limit{Every: every}, 40 * time.Second, 20 * time.Second},
		"one that was begun long ago":          {Limit{Every: every}, time.Hour, 0},
		"one that a clock ahead has noted":     {Limit{Every: every}, -time.Hour, every},
		"one of a resource without a limit":    {Limit{}, 0, 0},
		"one of a resource nobody has limited": {Limit{Concurrent: 1}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.Resume(mastodon, test.limit, time.Now().Add(-test.ago))
				if test.wantAfter > 0 {
					b.parks("a", Rank{}, mastodon)
					b.passes(test.wantAfter - time.Millisecond)
					b.wantWoken()
					b.passes(time.Millisecond)
					b.wantWoken("a")
				}
				b.gets(b.Enter("a"), Rank{}, mastodon)
			})
		})
	}
	t.Run("an older call changes nothing", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Configure(mastodon, Limit{Every: every})
			b.gets(b.Enter("a"), Rank{}, mastodon).Done()
			b.Resume(mastodon, Limit{Every: every}, time.Now().Add(-every))
			b.parks("b", Rank{}, mastodon)
		})
	})
	t.Run("whoever waited for it is not let through first", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.parks("a", Rank{}, mastodon)
			b.Resume(mastodon, Limit{Every: every}, time.Now())
			b.wantWoken()
			b.passes(every)
			b.wantWoken("a")
		})
	})
	t.Run("one that was never called", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Resume(mastodon, Limit{Every: every}, time.Time{})
			b.gets(b.Enter("a"), Rank{}, mastodon)
		})
	})
	t.Run("whoever waits already waits longer", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Resume(mastodon, Limit{Every: every}, time.Now().Add(-30*time.Second))
			b.parks("a", Rank{}, mastodon)
			b.Resume(mastodon, Limit{Every: every}, time.Now())
			b.passes(59 * time.Second)
			b.wantWoken()
			b.passes(time.Second)
			b.wantWoken("a")
		})
	})
}

func TestPace(t *testing.T) {
	t.Parallel()
	const interval = 6 * time.Second
	for name, test := range map[string]struct {
		do   func(p *pace) time.Time
		want time.Duration
	}{
		"the first call need not wait": {func(*pace) time.Time { return noon }, 0},
		"the second waits for the interval": {func(p *pace) time.Time {
			p.spend(noon)
			return noon
		}, interval},
		"idle time is not saved up": {func(p *pace) time.Time {
			p.spend(noon)
			p.spend(in(time.Hour))
			return in(time.Hour)
		}, interval},
		"a token that was not used can be taken again": {func(p *pace) time.Time {
			taken := p.spend(noon)
			p.putBack(taken)
			return in(time.Second)
		}, 0},
		"a token that was followed by another is lost": {func(p *pace) time.Time {
			taken := p.spend(noon)
			p.spend(in(interval))
			p.putBack(taken)
			return in(interval)
		}, interval},
		"both of two tokens can be given back, last first": {func(p *pace) time.Time {
			first := p.spend(noon)
			second := p.spend(in(interval))
			p.putBack(second)
			p.putBack(first)
			return in(interval)
		}, 0},
		"a longer interval counts from the last call": {func(p *pace) time.Time {
			p.spend(noon)
			p.change(2 * interval)
			return in(interval)
		}, interval},
		"a shorter one too": {func(p *pace) time.Time {
			p.spend(noon)
			p.change(interval / 2)
			return in(interval / 2)
		}, 0},
		"no limit any more": {func(p *pace) time.Time {
			p.spend(noon)
			p.change(0)
			p.spend(noon)
			return noon
		}, 0},
		"a clock that went back does not stop it": {func(p *pace) time.Time {
			p.spend(in(time.Hour))
			return noon
		}, interval},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pace{interval: interval}
			if got := p.wait(test.do(p)); got != test.want {
				t.Errorf("waits %s, want %s", got, test.want)
			}
		})
	}
}

// R3.9: whatever is given back, two calls that were made are never closer than the interval.
func TestPaceKeepsItsDistance(t *testing.T) {
	t.Parallel()
	type call struct {
		at    time.Time
		token token
	}
	rapid.Check(t, func(t *rapid.T) {
		p := &pace{interval: 6 * time.Second}
		now := noon
		var calls []call
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch {
			case rapid.Bool().Draw(t, "time passes"):
				now = now.Add(time.Duration(rapid.IntRange(1, 15).Draw(t, "seconds")) * time.Second)
			case len(calls) > 0 && rapid.Bool().Draw(t, "give back"):
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "which")
				p.putBack(calls[i].token)
				calls = append(calls[:i:i], calls[i+1:]...)
			case p.wait(now) == 0:
				calls = append(calls, call{now, p.spend(now)})
			}
		}
		for i := 1; i < len(calls); i++ {
			if gap := calls[i].at.Sub(calls[i-1].at); gap < p.interval {
				t.Fatalf("calls %s apart", gap)
			}
		}
	})
}
