// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
)

// zones are the names that mean one thing only, in minutes east of Greenwich. Names that several
// parts of the world use (CST, IST, AST and others) are not guessed: no date is better than one
// that is wrong by half a day.
var zones = map[string]int{
	"Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "MEZ": 60, "CEST": 120, "MESZ": 120,
	"EET": 120, "EEST": 180, "MSK": 180, "HKT": 480, "SGT": 480, "AWST": 480, "JST": 540, "KST": 540,
	"ACST": 570, "AEST": 600, "ACDT": 630, "AEDT": 660, "NZST": 720, "NZDT": 780,
	"EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AKST": -540, "AKDT": -480, "HST": -600,
}

var months = map[string]time.Month{
	"jan": 1, "january": 1, "feb": 2, "february": 2, "mar": 3, "march": 3, "apr": 4, "april": 4, "may": 5,
	"jun": 6, "june": 6, "jul": 7, "july": 7, "aug": 8, "august": 8, "sep": 9, "sept": 9, "september": 9,
	"oct": 10, "october": 10, "nov": 11, "november": 11, "dec": 12, "december": 12,
}

// A dateForm is one order of year, month and day, with the numbers of their groups.
type dateForm struct {
	form             *regexp.Regexp
	year, month, day int
}

// dateForms in the order in which they are tried. "1/2/2006" is missing on purpose: half of the
// world reads it the other way round.
var dateForms = []dateForm{
	{regexp.MustCompile(`(?:^|\D)(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})日?(?:\D|$)`), 1, 2, 3},
	{regexp.MustCompile(`(?:^|\D)(\d{1,2})(?:st|nd|rd|th)?[\s-]*([A-Za-z]{3,9})\.?[\s,-]*(\d{4}|\d{2})(?:[^\d:]|$)`), 3, 2, 1},
	{regexp.MustCompile(`(?:^|[^A-Za-z])([A-Za-z]{3,9})\.?\s*(\d{1,2})(?:st|nd|rd|th)?[\s,]+(\d{4})(?:[^\d:]|$)`), 3, 1, 2},
	{regexp.MustCompile(`(?:^|\D)(\d{4})\s+([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:[^\d:]|$)`), 1, 2, 3},
	{regexp.MustCompile(`(?:^|\D)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?:\D|$)`), 3, 2, 1},
}

var (
	// "Mon Jan 2 15:04:05 MST 2006": the year after the time of day.
	yearLast     = regexp.MustCompile(`^(.*[A-Za-z]{3,9}\.? +\d{1,2}),? +(\d{1,2}:\d{2}.*?) +(\d{4})$`)
	timeOfDay    = regexp.MustCompile(`(?:^|[^\d:+-])(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,]\d{1,9})?)?(?:\s*([AaPp])\.?[Mm]\b\.?)?`)
	japaneseTime = regexp.MustCompile(`(\d{1,2})\s*時\s*(\d{1,2})\s*分(?:\s*(\d{1,2})\s*秒)?`)
	offset       = regexp.MustCompile(`([+-])(\d{1,2}):?(\d{2})(?:\D|$)|([+-])(\d{1,2})(?:[^\d:]|$)`)
	zoneName     = regexp.MustCompile(`[A-Za-z]+`)
)

// published returns when the entry was published, else updated; zero when neither date is usable.
func published(item *gofeed.Item) time.Time {
	for _, date := range []struct {
		raw    string
		parsed *time.Time
	}{{item.Published, item.PublishedParsed}, {item.Updated, item.UpdatedParsed}} {
		if t, sure := parseDate(date.raw); sure {
			if !t.IsZero() {
				return t
			}
			continue
		}
		// The parser knows more forms, but takes every zone that it does not know for UTC.
		if date.parsed != nil {
			if t := usable(*date.parsed); !t.IsZero() {
				return t
			}
		}
	}
	return time.Time{}
}

// parseDate reads a date in any of the common forms, in UTC; one without a zone is taken for UTC.
// When it is sure and the time is zero, no other parser should try: the date is in a zone that
// must not be guessed, or stands for none.
func parseDate(raw string) (t time.Time, sure bool) {
	const longestDate = 128
	if len(raw) > longestDate {
		return time.Time{}, true
	}
	text := yearLast.ReplaceAllString(plainLine(raw), "$1 $3 $2")
	text = japaneseTime.ReplaceAllString(text, "$1:$2:$3 ")
	text = strings.ReplaceAll(text, ": ", " ")
	day, before, after, found := findDate(text)
	clock, zone, ok := findTime(before+" "+after, strings.TrimSpace(after))
	east, known := zoneOffset(zone)
	if !found || !ok || !known {
		return time.Time{}, !known && zoneName.MatchString(zone)
	}
	return usable(day.Add(clock - east)), true
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
		month, named := months[strings.ToLower(group(f.month))]
		if !named {
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
		if hour < 1 || hour > 12 {
			return 0, "", false
		}
		hour %= 12
		if text[at[8]] == 'p' || text[at[8]] == 'P' {
			hour += 12
		}
	}
	if hour > 23 || minute > 59 {
		return 0, "", false
	}
	clock = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	return clock, text[at[1]:], true
}

// zoneOffset reads what follows the time of day: "+0900", "JST", "GMT+09:00", "+0000 (UTC)", or
// nothing, which is UTC. A number says more than a name. It is not known when it is ambiguous.
func zoneOffset(tail string) (east time.Duration, known bool) {
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
	name := zoneName.FindString(tail)
	if name == "" {
		return 0, !strings.ContainsAny(tail, "0123456789")
	}
	minutes, known := zones[strings.ToUpper(name)]
	return time.Duration(minutes) * time.Minute, known
}

// usable returns the time in UTC, or zero for what nothing was published at: 1 January 1970, which
// software writes for "not set", and years that no date format of ours can hold.
func usable(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	if t.Year() < 1 || t.Year() > 9999 || t.Year() == 1970 && t.YearDay() == 1 {
		return time.Time{}
	}
	return t
}
