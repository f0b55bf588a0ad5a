// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// R3.13: a look for a post reads the items of the namespaces that post to the same account, and of no others: whoever owns a server can
// have it look as often as they like.
func TestALookReadsTheItemsOfNobodyElse(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2)
	w, other := tenants[0], tenants[1]
	own, theirs := w.mastodon(ignoresKeys), other.mastodon()
	w.openDestination("press", own.URL)
	other.openDestination("press", theirs.URL)
	other.oneItem("press")
	other.untilItems("news", allProcessed(1))
	var listed, foreign atomic.Int64
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/feeditems") && r.URL.Query().Get("limit") == "200" {
			listed.Add(1)
			if strings.Contains(r.URL.Path, other.namespace) {
				foreign.Add(1)
			}
		}
		return nil
	})
	own.OnPost(func(p *mastodontest.Pending) bool {
		p.Commit()
		p.Reset()
		return true
	})
	w.oneItem("press")
	w.untilItem("news", hasFailed("press", 1))
	own.OnPost(nil)
	w.untilEnded("news", 1)
	if len(own.Posts()) != 1 || listed.Load() == 0 || foreign.Load() != 0 {
		t.Errorf("%d posts; of %d pages of items that were read, %d were another tenant's", len(own.Posts()), listed.Load(), foreign.Load())
	}
}
