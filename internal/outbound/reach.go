// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// Reach is what a request says about the network between here and a host.
type Reach int

// What a request can say.
const (
	// NotTried: no request left, or it was called off: there was no room for the answer, or no time.
	NotTried Reach = iota
	// Reached: the host has answered, with whatever it was.
	Reached
	// Unreached: no answer came.
	Unreached
)

// ReachOf is what the outcome of a request says about the network.
func ReachOf(err error) Reach {
	if err == nil {
		return Reached
	}
	cause := failure.Classify(err)
	switch cause.Type {
	case failure.TypeInvalidURL, failure.TypeAddressRefused, typeInvalidHeader, typeInterrupted, failure.TypeNoRoom:
		return NotTried
	}
	if cause.Category == v1alpha1.CategoryNetwork && cause.Status == 0 {
		return Unreached
	}
	return Reached
}
