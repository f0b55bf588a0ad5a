// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestFreshness bounds what a server may say, which is in seconds and can be any number.
const longestFreshness = 365 * 24 * time.Hour

// freshFor is for how long a server says that its answer stays as it is: max-age, or else the time
// from Date to Expires (RFC 9111, 4.2.1, without what is for shared caches). What it has aged in
// caches on the way is not taken off: that differs from answer to answer. 0 where the server says
// nothing, says that the answer is not to be kept, or says what cannot be understood.
func freshFor(header http.Header, now time.Time) time.Duration {
	maxAge, declared := -1, false
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			declared = true
			seconds, err := strconv.Atoi(strings.Trim(value, `"`))
			if err != nil { // also where it is more than a number can hold
				seconds = 0
			}
			if maxAge < 0 || seconds < maxAge { // said twice: the more careful one
				maxAge = seconds
			}
		}
	}
	if declared {
		return time.Duration(min(max(maxAge, 0), int(longestFreshness/time.Second))) * time.Second
	}
	expires, err := http.ParseTime(header.Get("Expires"))
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		date = now
	}
	return min(max(expires.Sub(date), 0), longestFreshness)
}
