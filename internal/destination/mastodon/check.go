// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/feed-operator/feed-operator/internal/destination"
)

// onlyWrites is why a token cannot read, and what it is good for.
const onlyWrites = "The access token may post, but not read what was posted. With the scopes read:accounts and read:statuses " +
	"too, a post whose outcome is unknown can be looked up before it is sent again."

// Check finds out whether the token is valid, what it may do, and what the server takes. A token
// that may only write is no error.
func (c *Client) Check(ctx context.Context) (destination.Account, error) {
	checked := destination.Account{CanRead: true}
	owner, err := c.api.GetAccountCurrentUser(ctx)
	if err == nil && !usableID(owner.ID) {
		return destination.Account{}, malformed(c.server.Host, http.StatusOK)
	}
	if err == nil {
		_, _, err = c.page(ctx, owner.ID, "", 1)
	}
	switch {
	case errors.Is(err, errScope):
		checked.CanRead, checked.CannotRead = false, onlyWrites
	case err != nil:
		return destination.Account{}, c.failed(err)
	}
	about, err := c.instance(ctx)
	if err != nil {
		return destination.Account{}, err
	}
	if owner != nil {
		checked.Handle = c.handle(owner.Acct, about)
		checked.URL = webAddress(owner.URL)
	}
	checked.Limits = about.limits()
	checked.Software = about.software()
	checked.HonoursKeys = about.isMastodon()
	return checked, nil
}

// handle is the name by which the account is known everywhere.
func (c *Client) handle(name string, about instance) string {
	name = destination.PlainLine(strings.TrimPrefix(name, "@"), destination.MaxWords)
	if name == "" || strings.Contains(name, "@") {
		return name
	}
	// The domain of the names may be another than the one where the server is.
	domain := about.Domain
	if domain == "" || domain != destination.PlainLine(domain, destination.MaxWords) || strings.ContainsAny(domain, " /@") {
		domain = c.server.Host
	}
	return "@" + name + "@" + domain
}
