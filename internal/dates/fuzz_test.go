// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dates

import (
	"testing"
	"time"
)

// R1.6: a date is none, or one that can be stored, and reads the same when it is written out.
func FuzzDates(f *testing.F) {
	for _, raw := range []string{"Fri, 20 Nov 2026 13:05:06 JST", "2026年11月20日(金) 13時05分06秒", "Nov 20th, 2026 1:05 p.m. EST",
		"Fri Nov 20 13:05:06 +0900 2026", "20/11/2026", "2026-11-20T13:05:06.789+09:00", "2026-11-20Z", "20.11.26",
		"令和8年11月20日(金) 午後1時5分", "２０２６年１１月２０日", "2026. 11. 20. 오전 9:05", "20 de noviembre de 2026", "20 ноября 2026 г., 13:05 MSK",
		"2026-W47-5T13:05Z", "2026-324", "1795179906789", "20261120T130506Z", "Thu, 19 Nov 2026 24:00:00 GMT", "20. Nov. 2026, 13.05 Uhr", "1er août 2026 13h05"} {
		f.Add(raw, "")
	}
	f.Add("Fri, 20 Nov 2026 13:05:06 CST", "zh-CN")
	f.Fuzz(func(t *testing.T, raw, language string) {
		date, sure := Parse(raw, language)
		if again, surely := Parse(raw, language); !again.Equal(date) || surely != sure {
			t.Errorf("%q is %v, then %v", raw, date, again)
		}
		if !sure && !date.IsZero() {
			t.Errorf("%q is %v but not sure", raw, date)
		}
		if date.IsZero() {
			return
		}
		if _, err := date.MarshalJSON(); err != nil || date.Year() < 1970 || date.Location() != time.UTC || date.Nanosecond() != 0 {
			t.Errorf("%q is %v: %v", raw, date, err)
		}
		for _, layout := range []string{time.RFC3339, time.RFC1123Z, time.RFC1123, time.UnixDate, "2006年1月2日15時4分5秒", "2006/01/02 03:04:05 PM"} {
			if again, _ := Parse(date.Format(layout), language); !again.Equal(date) {
				t.Errorf("%q is %v, but %q is %v", raw, date, date.Format(layout), again)
			}
		}
	})
}
