// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// R3.3
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		value string
		want  time.Duration
	}{
		"seconds":                      {"17", 17 * time.Second},
		"parts of seconds":             {"1.5", 1500 * time.Millisecond},
		"with space around it":         {" 17\t", 17 * time.Second},
		"now":                          {"0", 0},
		"nothing":                      {"", 0},
		"a negative number":            {"-5", 0},
		"a number with a sign":         {"+5", 0},
		"a number with an exponent":    {"1e3", 0},
		"not a number":                 {"NaN", 0},
		"infinity":                     {"Inf", 0},
		"a hexadecimal number":         {"0x10", 0},
		"words":                        {"soon", 0},
		"two values":                   {"5, 6", 0},
		"a week":                       {"604800", failure.MaxWait},
		"more than a week":             {"604801", failure.MaxWait},
		"more than a duration has":     {"99999999999999999999", failure.MaxWait},
		"more than a float has":        {strings.Repeat("9", 400), failure.MaxWait},
		"a date":                       {"Wed, 01 Apr 2026 09:02:00 GMT", 2 * time.Minute},
		"a date in the form of 1985":   {"Wednesday, 01-Apr-26 09:02:00 GMT", 2 * time.Minute},
		"a date in the form of C":      {"Wed Apr  1 09:02:00 2026", 2 * time.Minute},
		"a date that is over":          {"Wed, 01 Apr 2026 08:59:59 GMT", 0},
		"a date in a thousand years":   {"Wed, 01 Apr 3026 09:00:00 GMT", failure.MaxWait},
		"a date of another form":       {"2026-04-01T09:02:00Z", 0},
		"a length of time with a unit": {"6m0s", 0},
	} {
		if got := failure.RetryAfter(test.value, now); got != test.want {
			t.Errorf("%s: %q is %s, want %s", name, test.value, got, test.want)
		}
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 9, 0, 0, 500e6, time.UTC)
	for name, test := range map[string]struct {
		value string
		want  time.Duration
	}{
		"a time":                     {"2026-04-01T09:02:00Z", 119500 * time.Millisecond},
		"a time with a zone":         {" 2026-04-01T18:02:00.5+09:00\t", 2 * time.Minute},
		"a time that is over":        {"2026-04-01T08:59:59Z", 0},
		"a time in a thousand years": {"3026-04-01T09:00:00Z", failure.MaxWait},
		"seconds from now":           {"30", 30 * time.Second},
		"parts of seconds":           {"0.25", 250 * time.Millisecond},
		"seconds since 1970":         {"1775034120", 119500 * time.Millisecond},
		"seconds since 1970, over":   {"1775034000", 0},
		"milliseconds since 1970":    {"1775034120000", failure.MaxWait},
		"a month":                    {"2592000", failure.MaxWait},
		"more than a float has":      {strings.Repeat("9", 400), failure.MaxWait},
		"a date of another form":     {"Wed, 01 Apr 2026 09:02:00 GMT", 0},
		"a time that is none":        {"2026-99-99T09:00:00Z", 0},
		"a negative number":          {"-5", 0},
		"a number with an exponent":  {"1e3", 0},
		"not a number":               {"NaN", 0},
		"nothing":                    {"", 0},
	} {
		if got := failure.Until(test.value, now); got != test.want {
			t.Errorf("%s: %q is %s, want %s", name, test.value, got, test.want)
		}
	}
}

func TestRetryAfterMs(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"250": 250 * time.Millisecond, "1500\t": 1500 * time.Millisecond, "0.5": 500 * time.Microsecond,
		"": 0, "-1": 0, "soon": 0, "20ms": 0,
		"604800001": failure.MaxWait, "99999999999999999999": failure.MaxWait,
	} {
		if got := failure.RetryAfterMs(value); got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
	}
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"6m0s": 6 * time.Minute, "1s": time.Second, "20ms": 20 * time.Millisecond, "8.64s": 8640 * time.Millisecond,
		"1h2m3s": time.Hour + 2*time.Minute + 3*time.Second, "1d3h": 27 * time.Hour, "\t7m12s": 432 * time.Second,
		"": 0, "17": 0, "-5s": 0, "5 s": 0, "s": 0, "5y": 0, "1s soon": 0, "Wed, 01 Apr 2026 09:02:00 GMT": 0,
		"8d": failure.MaxWait, "6d48h": failure.MaxWait, "99999999999999999999h99999999999999999999h": failure.MaxWait,
	} {
		if got := failure.WaitFor(value); got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
	}
}

func TestAnyWaitIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-+]?[0-9]{0,30}(\.[0-9]{0,5})?(ms|s|m|h|d)?`)).Draw(t, "value")
		now := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "now"), 0)
		for _, got := range []time.Duration{failure.RetryAfter(value, now), failure.RetryAfterMs(value), failure.WaitFor(value), failure.Until(value, now)} {
			if got < 0 || got > failure.MaxWait {
				t.Errorf("%q is a wait of %s", value, got)
			}
		}
	})
}

// A date is read as net/http reads it, which this package must not import.
func TestDatesAreReadAsNetHTTPDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_775_000_000, 0)
		at := now.Add(time.Duration(rapid.Int64Range(1, 600_000).Draw(t, "seconds")) * time.Second).UTC()
		for _, layout := range []string{http.TimeFormat, time.RFC850, time.ANSIC} {
			value := at.Format(layout)
			want, err := http.ParseTime(value)
			if err != nil {
				continue
			}
			if got := failure.AnsweredAt(value, now); !got.Equal(want) {
				t.Errorf("%q is %s, want %s", value, got, want)
			}
			if got := failure.RetryAfter(value, now); got != want.Sub(now) {
				t.Errorf("%q is %s, want %s", value, got, want.Sub(now))
			}
		}
	})
}

// R1.3, R1.6
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"120", "-1", "99999999999999999999", "Sun, 01 Mar 2026 13:00:00 GMT", "Sunday, 01-Mar-99 13:00:00 GMT", "soon", "٣"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if wait := failure.RetryAfter(value, now); wait < 0 || wait > failure.MaxWait {
			t.Errorf("Retry-After %q is a wait of %s", value, wait)
		}
	})
}
