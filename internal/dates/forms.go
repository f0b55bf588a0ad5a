// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dates

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

var (
	eraYear     = regexp.MustCompile(`(令和|平成|昭和|\b[RHS])\s*(元|\d{1,2})\s*([年.])`)
	asianClock  = regexp.MustCompile(`(\d{1,2})\s*[時时點点시](?:\s*(\d{1,2})\s*[分분]?)?(?:\s*(\d{1,2})\s*[秒초])?`)
	frenchClock = regexp.MustCompile(`(^|[^\d:])(\d{1,2})\s?[hH](?:\s?(\d{2}))?\b`) // "06 H" behind a colon has a zone
	germanClock = regexp.MustCompile(`(^|\D)(\d{1,2})(?:[.:](\d{2}))?\s?Uhr\b`)
	halfOfDay   = regexp.MustCompile(`(午前|上午|오전|午後|下午|오후)\s*(\d{1,2}:\d{1,2}(?::\d{1,2})?)`)
	compact     = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})(?:[Tt ]?(\d{2})(\d{2})(\d{2})?)?(\D.*)?$`)
	weekDate    = regexp.MustCompile(`^(\d{4})-?W(\d{2})(?:-?([1-7]))?(T.*)?$`)
	ordinalDate = regexp.MustCompile(`^(\d{4})-(\d{3})(T.*)?$`)
	epochTime   = regexp.MustCompile(`^(\d{9,10})(?:\.\d+)?$|^(\d{9,10})\d{3}$`)
	slashDate   = regexp.MustCompile(`(^|\D)(\d{1,2})[/-](\d{1,2})[/-](\d{4}|\d{2})(\D|$)`)
)

// respell writes what only some countries or standards do in the way that dateForms and timeOfDay
// read.
func respell(text string) string {
	text = norm.NFKC.String(text) // full-width digits
	// Most dates have none of these, and an expression is dear.
	if strings.ContainsAny(text, "令平昭RHS") {
		text = eraYear.ReplaceAllStringFunc(text, westernYear)
	}
	if strings.ContainsAny(text, "時时點点시") {
		text = asianClock.ReplaceAllStringFunc(text, func(match string) string {
			part := asianClock.FindStringSubmatch(match)
			return fmt.Sprintf("%s:%s:%s ", part[1], cmp.Or(part[2], "00"), cmp.Or(part[3], "00"))
		})
	}
	if strings.ContainsAny(text, "hH") {
		text = clockByLetter(frenchClock, text)
		text = clockByLetter(germanClock, text)
	}
	if strings.ContainsAny(text, "前上전後下후") {
		text = halfOfDay.ReplaceAllStringFunc(text, func(match string) string {
			part := halfOfDay.FindStringSubmatch(match)
			switch part[1] {
			case "午前", "上午", "오전":
				return part[2] + " AM"
			}
			return part[2] + " PM"
		})
	}
	if strings.ContainsAny(text[:min(len(text), 1)], "0123456789") {
		text = calendarDate(text)
	}
	if strings.ContainsAny(text, "/-") {
		text = slashDate.ReplaceAllStringFunc(text, yearFirst)
	}
	return strings.ReplaceAll(text, ": ", " ")
}

// westernYear counts the year of a Japanese era as the West does.
func westernYear(match string) string {
	part := eraYear.FindStringSubmatch(match)
	year, err := strconv.Atoi(part[2])
	if err != nil {
		year = 1 // 元
	}
	before := map[string]int{"令和": 2018, "R": 2018, "平成": 1988, "H": 1988, "昭和": 1925, "S": 1925}
	return fmt.Sprintf("%d%s", before[part[1]]+year, part[3])
}

// clockByLetter writes the times of a form in which a letter or a word stands for the colon.
func clockByLetter(form *regexp.Regexp, text string) string {
	return form.ReplaceAllStringFunc(text, func(match string) string {
		part := form.FindStringSubmatch(match)
		return part[1] + part[2] + ":" + cmp.Or(part[3], "00")
	})
}

// calendarDate writes a date that is given in digits only, by week, or by day of the year, as year,
// month and day.
func calendarDate(text string) string {
	switch {
	case compact.MatchString(text):
		part := compact.FindStringSubmatch(text)
		text = part[1] + "-" + part[2] + "-" + part[3]
		if part[4] != "" {
			text += " " + part[4] + ":" + part[5] + ":" + cmp.Or(part[6], "00")
		}
		return text + part[7]
	case weekDate.MatchString(text):
		part := weekDate.FindStringSubmatch(text)
		year, _ := strconv.Atoi(part[1])
		week, _ := strconv.Atoi(part[2])
		day, _ := strconv.Atoi(cmp.Or(part[3], "1"))
		if week < 1 || week > 53 {
			return text
		}
		fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC) // always in the first week
		monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7)
		return monday.AddDate(0, 0, 7*(week-1)+day-1).Format(time.DateOnly) + part[4]
	case ordinalDate.MatchString(text):
		part := ordinalDate.FindStringSubmatch(text)
		year, _ := strconv.Atoi(part[1])
		number, _ := strconv.Atoi(part[2])
		day := time.Date(year, 1, number, 0, 0, 0, 0, time.UTC)
		if number < 1 || day.Year() != year {
			return text
		}
		return day.Format(time.DateOnly) + part[3]
	}
	return text
}

// yearFirst turns a date with slashes around, as far as it can only be one day.
func yearFirst(match string) string {
	part := slashDate.FindStringSubmatch(match)
	first, _ := strconv.Atoi(part[2])
	second, _ := strconv.Atoi(part[3])
	switch {
	case len(part[4]) == 2:
	case first > 12 || first == second:
		return fmt.Sprintf("%s%s-%d-%d%s", part[1], part[4], second, first, part[5])
	case second > 12:
		return fmt.Sprintf("%s%s-%d-%d%s", part[1], part[4], first, second, part[5])
	}
	return match
}

// ambiguous reports whether the date is one that half of the world reads the other way round:
// "1/2/2026".
func ambiguous(text string) bool { return slashDate.MatchString(text) }

// epoch reads seconds or milliseconds since 1970.
func epoch(text string) (time.Time, bool) {
	part := epochTime.FindStringSubmatch(text)
	if part == nil {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(part[1]+part[2], 10, 64)
	return time.Unix(seconds, 0), err == nil
}
