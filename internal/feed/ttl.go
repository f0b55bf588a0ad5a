// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"strconv"
	"strings"
)

// maxTTL bounds what a document may declare, in minutes: a year.
const maxTTL = 366 * 24 * 60

// ttlOf reads the ttl of RSS 2.0, in minutes: how long a channel can be kept before it is read again.
// What is no positive number of minutes says nothing.
func ttlOf(declared string) int {
	minutes, err := strconv.ParseFloat(strings.TrimSpace(declared), 64)
	if err != nil || !(minutes > 0) { // NaN is not above 0 either
		return 0
	}
	return int(min(minutes, maxTTL))
}
