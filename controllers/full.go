// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

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
