// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R4.4: a destination gets another account, or another server, within the minute after its last posts. What the former one has posted says
// nothing of the new one: there the entries are posted.
func TestAnAccountThatIsChangedRightAfterAPostKnowsNothingOfIt(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"server", "account"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first, second := w.mastodon(), w.mastodon()
			var renamed atomic.Bool
			first.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
				if !renamed.Load() || !strings.HasSuffix(r.URL.Path, "/verify_credentials") {
					return false
				}
				_, _ = fmt.Fprint(rw, `{"id":"109000000000000001","username":"feeds","acct":"desk"}`)
				return true
			})
			w.openDestination("press", first.URL)
			web := feedtest.New(t)
			entries := web.Entries("news", 3)
			web.List(entries[:2]...)
			w.source("news", web.FeedURL(), postsTo("press"))
			w.untilItems("news", allProcessed(2))
			before := w.untilDestination("press", isOpen).Status.Server.Account
			patch := fmt.Sprintf(`{"spec":{"mastodon":{"server":%q}}}`, second.URL)
			if change == "account" {
				renamed.Store(true)
				patch = `{"spec":{"timeout":"31s"}}`
			}
			w.changeDestination("press", patch)
			w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
				if d.Status.Server == nil || d.Status.Server.Account == before {
					return errors.New("not asked yet")
				}
				return isOpen(d)
			})
			web.List(entries...) // another entry is posted there before the minute ends
			w.poll("news")
			w.untilItems("news", allProcessed(3))
			w.remove("news")
			w.source("news", web.FeedURL(), postsTo("press"))
			posted := 0
			for _, item := range w.untilEnded("news", 3) {
				if inState("press", v1alpha1.DeliveryDone)(&item) == nil {
					posted++
				}
			}
			if posted != 2 {
				t.Errorf("%d of the 2 entries that only the former account has were posted", posted)
			}
		})
	}
}
