// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	api "github.com/mattn/go-mastodon"
)

// idsAgree is how far the time in an id may be from the time of its status. Ids of other kinds that look alike are years off.
const idsAgree = 24 * time.Hour

// made is when a status was made by the server's clock, as late as it can have been: by its id and by created_at. Ordered means that
// its id is one of those in whose order servers list statuses, and tells the time: all that is listed after it is older.
func made(status *api.Status) (at time.Time, ordered bool) {
	at = status.CreatedAt
	told, can := timeOf(string(status.ID))
	if !can || told.Sub(at).Abs() > idsAgree {
		return at, false
	}
	if told.After(at) {
		at = told
	}
	return at, true
}

// timeOf is the time in an id, in milliseconds since 1970: in the upper bits of Mastodon's (a decimal number; lib/mastodon/snowflake.rb),
// in the first ten characters of GoToSocial's (a ULID; github.com/ulid/spec), and in the upper half of those of Pleroma and Akkoma (128 bits in base 62;
// hex.pm/packages/flake_id). It returns false for others.
func timeOf(id string) (time.Time, bool) {
	const ulid, flake = 26, 18
	milliseconds, ok := int64(0), false
	switch len(id) {
	case ulid:
		milliseconds, ok = digits(id[:10], "0123456789ABCDEFGHJKMNPQRSTVWXYZ")
	case flake:
		if milliseconds, ok = snowflake(id); !ok || !isRecent(milliseconds) { // Mastodon's have as many digits
			milliseconds, ok = flakeTime(id)
		}
	default:
		milliseconds, ok = snowflake(id)
	}
	return time.UnixMilli(milliseconds), ok && isRecent(milliseconds)
}

// isRecent reports for a time that there were such servers then, and that it is not nonsense.
func isRecent(milliseconds int64) bool {
	const firstServer, centuryLater = 1_451_606_400_000, 4_607_280_000_000 // the first days of 2016 and 2116
	return milliseconds > firstServer && milliseconds < centuryLater
}

func snowflake(id string) (milliseconds int64, ok bool) {
	number, err := strconv.ParseInt(id, 10, 64)
	return number >> 16, err == nil && number > 0
}

func flakeTime(id string) (milliseconds int64, ok bool) {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	number := new(big.Int)
	for _, character := range id {
		digit := strings.IndexRune(alphabet, character)
		if digit < 0 {
			return 0, false
		}
		number.Add(number.Mul(number, big.NewInt(int64(len(alphabet)))), big.NewInt(int64(digit)))
	}
	number.Rsh(number, 64)
	return number.Int64(), number.IsInt64()
}

// digits reads a number of few digits in the alphabet's base.
func digits(text, alphabet string) (number int64, ok bool) {
	for _, character := range text {
		digit := strings.IndexRune(alphabet, character)
		if digit < 0 {
			return 0, false
		}
		number = number*int64(len(alphabet)) + int64(digit)
	}
	return number, true
}
