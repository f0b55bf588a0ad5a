// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R3.13, R4.4: what a server says of its posts says nothing of another server's. Whoever owns one could else give the address of
// somebody's post as that of its own, and have that post made twice as soon as its answer is lost.
func TestAServerThatNamesAnotherTenantsPostAsItsOwnHasNothingPostedTwice(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2)
	victim, hostile := tenants[0], tenants[1]
	press := victim.mastodon(ignoresKeys)
	victim.openDestination("press", press.URL)
	press.OnPost(func(p *mastodontest.Pending) bool {
		p.Commit()
		p.Reset()
		return true
	})
	victim.oneItem("press")
	victim.untilItem("news", hasFailed("press", 1))
	press.OnPost(nil)
	public := fmt.Sprintf("%s/@feeds/%s", press.URL, press.Posts()[0].ID)

	evil := hostile.mastodon()
	evil.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusOK, "application/json", fmt.Sprintf(`{"id":"1","url":%q}`, public))
		return true
	})
	hostile.openDestination("evil", evil.URL)
	hostile.oneItem("evil")
	hostile.untilItems("news", allProcessed(1))

	ended := victim.untilEnded("news", 1)
	if posts := press.Posts(); len(posts) != 1 {
		t.Errorf("%d posts of one item, which is %s: %+v", len(posts), ended[0].Status.Phase, posts)
	}
}
