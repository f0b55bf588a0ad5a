// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"errors"
	"net/http"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// Certain reports for a failed call that it has published nothing: it never left, or it was answered
// with a refusal. A call that broke off, that was answered with an error of the server's own (5xx,
// which some send after they have published), with 302 or 303 (which some send when they have
// worked on a POST), or with something that is no answer at all, may have published nevertheless; unless the destination knows
// better (failure.Error.Rejected).
func Certain(err error) bool {
	var known *failure.Error
	if !errors.As(err, &known) {
		return false
	}
	if known.Rejected {
		return true
	}
	switch known.Status {
	case http.StatusFound, http.StatusSeeOther, http.StatusRequestTimeout:
		return known.Unsent
	}
	return known.Unsent || known.Status >= 300 && known.Status <= 499
}
