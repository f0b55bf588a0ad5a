// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MaxWait is the longest wait that another side is believed to mean.
const MaxWait = 7 * 24 * time.Hour

// httpDates are the forms of a date that RFC 9110, section 5.6.7, has servers read.
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}

var (
	number    = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?$`)
	durations = regexp.MustCompile(`^(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+$`)
	duration  = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)`)
)

// AnsweredAt reads the value of a Date header (RFC 9110, 6.6.1): the time by the clock of who answers, which is that of all times in the answer. What is
// none is now.
func AnsweredAt(value string, now time.Time) time.Time {
	if date, is := httpDate(value); is {
		return date
	}
	return now
}

// httpDate reads a date as it stands in headers.
func httpDate(value string) (date time.Time, is bool) {
	for _, layout := range httpDates {
		if date, err := time.Parse(layout, strings.TrimSpace(value)); err == nil {
			return date, true
		}
	}
	return time.Time{}, false
}

// RetryAfter reads the value of a Retry-After header (RFC 9110, section 10.2.3), which is a number
// of seconds or a date; some servers send parts of seconds. What is neither, or is over, is 0.
// What is longer than MaxWait is MaxWait.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if wait, ok := units(value, time.Second); ok {
		return wait
	}
	if until, is := httpDate(value); is {
		return min(max(until.Sub(now), 0), MaxWait)
	}
	return 0
}

// RetryAfterMs reads the value of a Retry-After-Ms header, which OpenAI and those who speak its API
// send beside Retry-After: a number of milliseconds. What is none is 0, what is longer than MaxWait is
// MaxWait.
func RetryAfterMs(value string) time.Duration {
	wait, _ := units(strings.TrimSpace(value), time.Millisecond)
	return wait
}

// Until reads a time at which a limit is reset, as it stands in the X-RateLimit-Reset headers of many
// APIs: by RFC 3339, or in seconds, which are since 1970 where there are enough of them, and else
// from now. What is neither, or is over, is 0. What is longer than MaxWait is MaxWait.
func Until(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return min(max(at.Sub(now), 0), MaxWait)
	}
	if !number.MatchString(value) {
		return 0
	}
	const anEpochSecond = 1_000_000_000 // in 2001
	seconds, err := strconv.ParseFloat(value, 64)
	if err == nil && seconds >= anEpochSecond { // the only error is a number too large
		seconds -= float64(now.UnixMilli()) / 1000
	}
	return time.Duration(min(max(seconds, 0), MaxWait.Seconds()) * float64(time.Second))
}

// WaitFor reads a length of time such as "6m0s", "1.5s", "20ms" or "1d3h", as it stands in OpenAI's
// X-RateLimit-Reset headers, in the RetryInfo of the Google APIs, and in the words of errors. What is none is 0, what is longer than
// MaxWait is MaxWait.
func WaitFor(value string) time.Duration {
	value = strings.TrimSpace(value)
	if !durations.MatchString(value) {
		return 0
	}
	var sum time.Duration
	for _, part := range duration.FindAllStringSubmatch(value, -1) {
		wait, _ := units(part[1], unitOf(part[2]))
		sum = min(sum+wait, MaxWait)
	}
	return sum
}

func unitOf(name string) time.Duration {
	switch name {
	case "ms":
		return time.Millisecond
	case "m":
		return time.Minute
	case "h":
		return time.Hour
	case "d":
		return 24 * time.Hour
	}
	return time.Second
}

// units reads a number of units, without overflowing.
func units(value string, unit time.Duration) (time.Duration, bool) {
	if !number.MatchString(value) {
		return 0, false
	}
	count, err := strconv.ParseFloat(value, 64)
	if err != nil || count >= float64(MaxWait/unit) { // the only error left is a number too large
		return MaxWait, true
	}
	return time.Duration(count * float64(unit)), true
}

// UsedUp reports whether a limit is one that a refusal can be about, by what a header such as X-RateLimit-Remaining says is left of it: nothing,
// or the header says nothing. Answers name limits that are far from reached, too, and those are reset hours after the next try would be well.
func UsedUp(left string) bool {
	left = strings.TrimSpace(left)
	return left == "" || left == "0"
}
