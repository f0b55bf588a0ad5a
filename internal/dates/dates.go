// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dates reads the dates of feeds in the forms in which they are written, by whatever software, in many languages.
//
// It knows the text of one date and the language around it. It must never know of what it is the date.
package dates

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// A dateForm is one order of year, month and day, with the numbers of their groups.
type dateForm struct {
	form             *regexp.Regexp
	year, month, day int
}

// dateForms in the order in which they are tried.
var dateForms = []dateForm{
	{regexp.MustCompile(`(?:^|\D)(\d{4})\s*[-/.年년]\s*(\d{1,2})\s*[-/.月월]\s*(\d{1,2})[日일]?(?:\D|$)`), 1, 2, 3},
	{regexp.MustCompile(`(?:^|\D)(\d{1,2})(?:st|nd|rd|th|er|[.ºª°])?[\s-]*(?:de\s)?(\p{L}{3,10})\.?[\s,-]*(?:del?\s)?(\d{4}|\d{2})(?:[^\d:]|$)`), 3, 2, 1},
	{regexp.MustCompile(`(?:^|\P{L})(\p{L}{3,10})\.?\s*(\d{1,2})(?:st|nd|rd|th)?[\s,]+(\d{4})(?:[^\d:]|$)`), 3, 1, 2},
	{regexp.MustCompile(`(?:^|\D)(\d{4})[\s-]+(\p{L}{3,10})\.?[\s-]+(\d{1,2})(?:[^\d:]|$)`), 1, 2, 3},
	{regexp.MustCompile(`(?:^|\D)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?:\D|$)`), 3, 2, 1},
}

// Longest is how long a date may be, in bytes.
const Longest = 256

var (
	// "Mon Jan 2 15:04:05 MST 2006": the year after the time of day.
	yearLast  = regexp.MustCompile(`^(.*\p{L}{3,10}\.? +\d{1,2}),? +(\d{1,2}:\d{2}.*?) +(\d{4})$`)
	timeOfDay = regexp.MustCompile(`(?:^|[^\d:+-])(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,]\d{1,9})?)?(?:\s*([AaPp])\.?[Mm]\b\.?)?`)
	offset    = regexp.MustCompile(`([+-])(\d{1,2}):?(\d{2})(?:\D|$)|([+-])(\d{1,2})(?:[^\d:]|$)`)
	word      = regexp.MustCompile(`[\p{L}/_]+`)
)

// Parse reads a date in any of the common forms, in UTC; one without a zone is taken for UTC. The
// language is that of the feed, or empty; the name of a zone may mean another one in it.
// When it is sure and the time is zero, no other parser should try: the date is in a zone or an
// order that must not be guessed, or stands for none.
func Parse(raw, language string) (t time.Time, sure bool) {
	if len(raw) > Longest {
		return time.Time{}, true
	}
	if at, ok := standardDate(raw); ok {
		return Usable(at), true
	}
	text := respell(plaintext.Line(raw))
	if at, ok := epoch(text); ok {
		return Usable(at), true
	}
	if last := text[max(0, len(text)-1):]; strings.ContainsAny(last, "0123456789") {
		text = yearLast.ReplaceAllString(text, "$1 $3 $2")
	}
	day, before, after, found := findDate(text)
	if !found && ambiguous(text) {
		return time.Time{}, true
	}
	clock, zone, ok := findTime(before+" "+after, strings.TrimSpace(after))
	east, known := zoneOffset(zone, func() (int, bool) { return centralTime(text, language) })
	if !found || !ok || !known {
		return time.Time{}, !known && word.MatchString(zone)
	}
	return Usable(day.Add(clock - east)), true
}

// standardDate reads the forms that the formats of feeds ask for, as most feeds have them, at a tenth
// of the price.
func standardDate(raw string) (time.Time, bool) {
	const farthest = 16 * 60 * 60 // seconds from Greenwich; no zone is there
	for _, layout := range []string{time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05 GMT", time.RFC3339} {
		if t, err := time.Parse(layout, raw); err == nil {
			_, east := t.Zone()
			return t, east > -farthest && east < farthest
		}
	}
	return time.Time{}, false
}

// findDate returns the day, and what stands before and after it.
func findDate(text string) (day time.Time, before, after string, found bool) {
	for _, f := range dateForms {
		at := f.form.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		group := func(i int) string { return text[at[2*i]:at[2*i+1]] }
		year, _ := strconv.Atoi(group(f.year))
		if len(group(f.year)) == 2 { // as in RFC 822; the same border as in package time
			year += 1900
			if year < 1969 {
				year += 100
			}
		}
		month := monthNamed(group(f.month))
		if month == 0 {
			number, _ := strconv.Atoi(group(f.month))
			month = time.Month(number)
		}
		number, _ := strconv.Atoi(group(f.day))
		day = time.Date(year, month, number, 0, 0, 0, 0, time.UTC)
		if day.Day() != number || day.Month() != month {
			continue
		}
		return day, text[:at[2]], text[at[7]:], true
	}
	return time.Time{}, text, "", false
}

// findTime returns the time of day and what stands after it, or midnight and the zone of the day
// when there is no time of day in the text.
func findTime(text, afterDay string) (clock time.Duration, zone string, ok bool) {
	at := timeOfDay.FindStringSubmatchIndex(text)
	if at == nil {
		if strings.IndexAny(afterDay, "+-Z") == 0 { // "2006-01-02Z"
			zone = afterDay
		}
		return 0, zone, strings.IndexAny(afterDay, "0123456789") != 0
	}
	number := func(i int) int {
		if at[2*i] < 0 {
			return 0
		}
		n, _ := strconv.Atoi(text[at[2*i]:at[2*i+1]])
		return n
	}
	hour, minute, second := number(1), number(2), min(number(3), 59) // 60 is a leap second
	if at[8] >= 0 {
		if hour > 12 { // 0 is what 12 is, in Japan
			return 0, "", false
		}
		hour %= 12
		if text[at[8]] == 'p' || text[at[8]] == 'P' {
			hour += 12
		}
	}
	if hour > 24 || minute > 59 || hour == 24 && minute+second > 0 { // 24:00 is the end of the day
		return 0, "", false
	}
	clock = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	return clock, text[at[1]:], true
}

// zoneOffset reads what follows the time of day: "+0900", "JST", "GMT+09:00", "+0000 (UTC)", or
// nothing, which is UTC. A number says more than a name. It is not known when it is ambiguous; of CST it
// asks cst.
func zoneOffset(tail string, cst func() (east int, known bool)) (east time.Duration, known bool) {
	if at := offset.FindStringSubmatch(tail); at != nil {
		hours, _ := strconv.Atoi(at[2] + at[5])
		minutes, _ := strconv.Atoi(at[3])
		if hours > 15 || minutes > 59 {
			return 0, false
		}
		east = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
		if at[1]+at[4] == "-" {
			east = -east
		}
		return east, true
	}
	if strings.ContainsAny(tail, "0123456789") && !word.MatchString(tail) {
		return 0, false
	}
	for _, name := range word.FindAllString(tail, -1) {
		minutes, known := zones[strings.ToUpper(name)]
		if strings.EqualFold(name, "CST") {
			minutes, known = cst()
		}
		if known {
			return time.Duration(minutes) * time.Minute, true
		}
		if looksLikeZone(name) {
			return 0, false
		}
	}
	return 0, true
}

// looksLikeZone tells the name of a zone that we do not know ("XYZ", "Asia/Tokyo", the last word
// of "Eastern Standard Time") from other words behind a time.
func looksLikeZone(name string) bool {
	short := len(name) >= 2 && len(name) <= 5 && name == strings.ToUpper(name) && name[0] < utf8.RuneSelf
	return short || strings.Contains(name, "/") || strings.EqualFold(name, "time")
}

// Usable returns the time in UTC, or zero for what nothing was published at: anything before
// 2 January 1970, because software writes 0 in one form or another for "not set", and years that no
// date format of ours can hold.
func Usable(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	if t.Before(time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)) || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}
