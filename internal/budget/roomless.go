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
	firstRetryDelay   = time.Second
	longestRetryDelay = 30 * time.Second
)

// longWithoutRoom is after how long somebody is told: most such waits end within seconds, and each is worth no write.
const longWithoutRoom = 15 * time.Minute

// WithoutRoom is what an object waits for that has found no room for longer, and what can be done.
const WithoutRoom = "memory: the operator, or this namespace, uses as much as it may at the moment. " +
	"Nothing has failed, and it is retried every minute. If this persists, raise the operator's flag --document-memory; " +
	"or reduce what this namespace needs: fewer entries in a feed, or a lower spec.article.maxBytes"

// MemoryBackoff is how many times in a row an object has found no room in memory, and since when.
type MemoryBackoff struct {
	times int
	since time.Time
}

// Again notes that there was no room once more, and returns when to come back.
func (r *MemoryBackoff) Again(uid types.UID, now time.Time) time.Time {
	if r.times++; r.times == 1 {
		r.since = now
	}
	return now.Add(retryDelay(uid, r.times))
}

// Long reports whether it is worth telling.
func (r *MemoryBackoff) Long(now time.Time) bool {
	return r.times > 0 && now.Sub(r.since) >= longWithoutRoom
}

// retryDelay is how long an object waits that has found no room in memory so many times in a row. It is half as long
// again for some, so that those who were refused together do not come together.
func retryDelay(uid types.UID, times int) time.Duration {
	wait := longestRetryDelay
	if times < 6 {
		wait = min(firstRetryDelay<<max(times-1, 0), longestRetryDelay)
	}
	spread := fnv.New32a()
	_, _ = spread.Write([]byte(string(uid) + strconv.Itoa(times)))
	return wait + wait/2*time.Duration(spread.Sum32()%1000)/1000
}
