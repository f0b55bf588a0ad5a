// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import "context"

// Account is what a destination says of itself and of whom it posts for.
type Account struct {
	// Handle of the account, such as @press@mastodon.example. May be empty.
	Handle string
	// URL of the account's page. May be empty.
	URL string
	// CanRead is set if the credentials allow to look at what was posted; else CannotRead says why
	// not, for a person.
	CanRead    bool
	CannotRead string
	// Limits of a post.
	Limits Limits
	// Software that runs there, with its version. May be empty.
	Software string
	// HonoursKeys is set if a call that is repeated with the same key can be trusted to make no
	// second post.
	HonoursKeys bool
}

// Checker is a Destination that can be asked about itself.
type Checker interface {
	// Check asks who the account is, and what it may do. An error is a *failure.Error.
	Check(ctx context.Context) (Account, error)
}
