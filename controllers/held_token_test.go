// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R3.14, R3.8, R4.4: posts are made, which cannot be written down, and meanwhile the token is refused and replaced. Each is posted once, also
// where nobody can look; and what was refused is posted once the token is good and writes are taken.
func TestATokenThatIsRefusedWhileNothingIsWrittenPostsEachOnce(t *testing.T) {
	t.Parallel()
	const n = 6
	for name, restart := range portion.Some(map[string]bool{"as it goes on": false, "after a restart": true}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refused := w.refuses(databaseFull, "")
			server := w.mastodon(ignoresKeys)
			var bad atomic.Bool
			var posts atomic.Int32
			begin := sync.OnceFunc(func() { refused.on.Store(true) })
			server.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
				if bad.Load() && r.Header.Get("Authorization") == "Bearer "+accessToken {
					http.Error(rw, `{"error":"The access token was revoked"}`, http.StatusUnauthorized)
					return true
				}
				if r.Method == http.MethodPost && posts.Add(1) == 2 {
					begin()
					bad.Store(true) // from the next call on
				}
				return false
			})
			w.openDestination("press", server.URL)
			web := feedtest.New(t)
			web.List(web.Entries("news", n)...)
			w.source("news", web.FeedURL(), postsTo("press"))
			w.last(refused)
			w.changeDestination("press", `{"spec":{"timeout":"31s"}}`) // it is asked anew
			w.untilDestination("press", isClosed(v1alpha1.ReasonCredentialsRefused))
			w.last(refused)
			if restart {
				w.restart()
			}
			bad.Store(false)
			w.changeDestination("press", `{"spec":{"timeout":"32s"}}`)
			w.untilDestination("press", isOpen)
			refused.on.Store(false)
			w.itemsInTime("news", allProcessed(n))
			if made := len(server.Posts()); made != n {
				t.Errorf("%d posts of %d entries", made, n)
			}
		})
	}
}

// R1.9, R3.14, R4.4: it is not known whether an entry was posted, that cannot be written down, and the source is suspended meanwhile; in the
// end it goes on. One post, and none while it is suspended.
func TestASourceThatIsSuspendedInDoubtWhileNothingIsWrittenPostsOnce(t *testing.T) {
	t.Parallel()
	for name, how := range portion.Some(map[string]struct{ commit, crash bool }{
		"posted": {true, false}, "not posted": {false, false}, "posted, and a crash": {true, true}, "not posted, and a crash": {false, true},
	}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refused := w.refuses(databaseFull, "")
			server := w.mastodon(ignoresKeys)
			w.openDestination("press", server.URL)
			server.OnPost(func(p *mastodontest.Pending) bool {
				refused.on.Store(true)
				if how.commit {
					p.Commit()
				}
				p.Reset()
				return true
			})
			source := w.oneItem("press")
			w.last(refused)
			w.change(source, `{"spec":{"suspend":true}}`)
			for range 30 {
				w.clock.Step(10 * time.Second)
			}
			w.settles()
			server.OnPost(nil)
			before := len(server.Posts())
			if how.crash {
				w.restart()
			}
			refused.on.Store(false)
			for range 5 {
				w.clock.Step(4 * time.Minute)
				w.settles()
			}
			if now := len(server.Posts()); now != before {
				t.Errorf("%d posts while the source is suspended, %d before", now, before)
			}
			w.change(source, `{"spec":{"suspend":false}}`)
			w.itemsInTime("news", allProcessed(1))
			if err := onePostEach(server, "/articles/news-1"); err != nil {
				t.Error(err)
			}
		})
	}
}
