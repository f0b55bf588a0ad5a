// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"hash/fnv"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Who finds no room in memory comes again after so long, and each time after twice as long up to the longest.
const (
	firstComeBack   = time.Second
	longestComeBack = 30 * time.Second
)

// longWithoutRoom is after how long somebody is told: most such waits end within seconds, and each is worth no write.
const longWithoutRoom = 15 * time.Minute

// WithoutRoom is what an object waits for that has found no room for longer, and what can be done.
const WithoutRoom = "room in memory: what the operator works on at the same time takes all that it may, or all that one namespace may. " +
	"Nothing has failed, and it is tried again every minute. If it goes on, whoever runs the operator should raise its flag --document-memory; " +
	"or have less that is large in this namespace: fewer entries in a feed, or a lower spec.article.maxBytes"

// Roomless is how many times in a row an object has found no room in memory, and since when.
type Roomless struct {
	times int
	since time.Time
}

// Again notes that there was no room once more, and returns when to come back.
func (r *Roomless) Again(uid types.UID, now time.Time) time.Time {
	if r.times++; r.times == 1 {
		r.since = now
	}
	return now.Add(comeBack(uid, r.times))
}

// Long says whether it is worth telling.
func (r *Roomless) Long(now time.Time) bool {
	return r.times > 0 && now.Sub(r.since) >= longWithoutRoom
}

// comeBack is how long an object waits that has found no room in memory so many times in a row. It is half as long
// again for some, so that those who were refused together do not come together.
func comeBack(uid types.UID, times int) time.Duration {
	wait := longestComeBack
	if times < 6 {
		wait = min(firstComeBack<<max(times-1, 0), longestComeBack)
	}
	spread := fnv.New32a()
	_, _ = spread.Write([]byte(string(uid) + strconv.Itoa(times)))
	return wait + wait/2*time.Duration(spread.Sum32()%1000)/1000
}
