// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dates

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// zones are the names that mean one thing only, and those of RFC 822, in minutes east of Greenwich. Names
// that several parts of the world use (IST, AST and others) are not guessed: no date is better than one
// that is wrong by half a day. For CST see centralTime. One letter alone is UTC, as RFC 5322, section 4.3,
// has it: RFC 822 gave the military zones the wrong sign, and so nobody knows what was meant.
var zones = map[string]int{
	"Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "MEZ": 60, "CEST": 120, "MESZ": 120,
	"EET": 120, "EEST": 180, "MSK": 180, "HKT": 480, "SGT": 480, "MYT": 480, "AWST": 480, "JST": 540, "KST": 540,
	"ACST": 570, "AEST": 600, "ACDT": 630, "AEDT": 660, "NZST": 720, "NZDT": 780,
	"TRT": 180, "IDT": 180, "PKT": 300, "NPT": 345, "ICT": 420, "WIB": 420, "WITA": 480, "PHT": 480,
	"WAT": 60, "CAT": 120, "SAST": 120, "EAT": 180, "BRT": -180, "ART": -180,
	"EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AKST": -540, "AKDT": -480, "HST": -600,
}

// rfc822CST is a date in the form of RFC 822, section 5, which defines CST.
var rfc822CST = regexp.MustCompile(`(?i)^(?:[a-z]{3,9}\.?,?\s+)?\d{1,2}[\s-]+(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|` +
	`aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?` +
	`[\s-]+(?:\d{4}|\d{2}),?\s+\d{1,2}:\d{2}(?::\d{2})?\s+\(?CST\)?$`)

// centralTime returns what CST means in a date, in minutes east of Greenwich. In a feed in Chinese it is
// China's: programs in Shanghai and Taipei write it for their own zone, in whatever form. Were it
// America's after all, the date would be 14 hours early; the other way round it would be late by as much,
// and most dates would lie in the future. Elsewhere the RFC decides, for dates in its form.
func centralTime(date, language string) (east int, known bool) {
	language, _, _ = strings.Cut(strings.ReplaceAll(strings.TrimSpace(language), "_", "-"), "-")
	switch {
	case strings.EqualFold(language, "zh"):
		return 480, true
	case rfc822CST.MatchString(date):
		return -360, true
	}
	return 0, false
}

// monthNames by language, January first; where dates decline the name, in that form too.
var monthNames = map[string]string{
	"en":          "january february march april may june july august september october november december",
	"de":          "januar februar märz april mai juni juli august september oktober november dezember",
	"Austria":     "jänner feber",
	"fr":          "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
	"es":          "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
	"it":          "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
	"pt":          "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
	"nl":          "januari februari maart april mei juni juli augustus september oktober november december",
	"sv":          "januari februari mars april maj juni juli augusti september oktober november december",
	"da":          "januar februar marts april maj juni juli august september oktober november december",
	"no":          "januar februar mars april mai juni juli august september oktober november desember",
	"id":          "januari februari maret april mei juni juli agustus september oktober november desember",
	"pl":          "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
	"pl, of":      "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
	"cs":          "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
	"cs, of":      "ledna února března dubna května června července srpna září října listopadu prosince",
	"ru":          "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
	"ru, of":      "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
	"uk":          "січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень",
	"uk, of":      "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
	"tr":          "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
	"short in nl": "jan feb mrt",
}

// months has all month names and their beginnings of three letters and more, without marks on the
// letters; 0 for what stands for different months.
var months = monthsByName()

func monthsByName() map[string]time.Month {
	const shortest = 3
	months := map[string]time.Month{}
	for _, names := range monthNames {
		for i, name := range strings.Fields(names) {
			letters := []rune(withoutMarks(name))
			for n := min(shortest, len(letters)); n <= len(letters); n++ {
				beginning, month := string(letters[:n]), time.Month(i+1)
				if other, found := months[beginning]; found && other != month {
					month = 0
				}
				months[beginning] = month
			}
		}
	}
	// A whole name counts for itself, even where it begins another one.
	for _, names := range monthNames {
		for i, name := range strings.Fields(names) {
			months[withoutMarks(name)] = time.Month(i + 1)
		}
	}
	return months
}

// monthNamed returns the month of that name, or 0.
func monthNamed(name string) time.Month { return months[withoutMarks(name)] }

// withoutMarks returns the text in lower case, without accents and such.
func withoutMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(text)))
}
