// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/posted"
)

// R4.4, R3.13: what is remembered of the posts at a destination is bounded, whatever name its server gives the account: one that
// gives another each time does not fill the database of the API server.
func TestWhatADestinationRemembersIsBoundedWhateverItsServerSays(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes more accounts than fit into what is remembered")
	const rounds = 2*posted.MostChunks + 3
	w := newWorld(t)
	press := w.mastodon()
	var account atomic.Int64
	press.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/verify_credentials") {
			return false
		}
		_, _ = fmt.Fprintf(rw, `{"id":"109000000000000001","username":"feeds","acct":"feeds%d"}`, account.Load())
		return true
	})
	w.openDestination("press", press.URL)
	web := feedtest.New(t)
	entries := web.Entries("news", rounds)
	web.List(entries[0])
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(1))
	w.untilPostsRemembered("press", 1)
	for i := 1; i < rounds; i++ {
		account.Add(1)
		w.changeDestination("press", fmt.Sprintf(`{"spec":{"timeout":"%dms"}}`, 30_000+i))
		w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
			if d.Status.Server == nil || !strings.Contains(d.Status.Server.Account, fmt.Sprintf("feeds%d", account.Load())) {
				return fmt.Errorf("not asked yet: %+v", d.Status.Server)
			}
			return nil
		})
		web.List(entries[:i+1]...)
		w.poll("news")
		w.untilItems("news", allProcessed(i+1))
		w.untilPostsRemembered("press", i+1)
	}
	w.clock.Step(time.Hour)
	await(t, func() error {
		memories, err := w.postMemories(t.Context(), "press")
		if err == nil && len(memories) > 2*posted.MostChunks {
			err = fmt.Errorf("%d FeedMemories of one destination", len(memories))
		}
		return err
	})
}

// R4.4: a URL that gives each reader a feed of their own, by their credentials, is not one feed: what was posted of one reader's says nothing
// of another's, though both count their entries from 1.
func TestOneURLWithOtherCredentialsIsAnotherFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	press := w.mastodon()
	w.openDestination("press", press.URL)
	web, ofAnn, ofBob := feedtest.New(t), feedtest.New(t), feedtest.New(t)
	for reader, feed := range map[string]*feedtest.Server{"ann": ofAnn, "bob": ofBob} {
		entries := feed.Entries(reader, 1)
		entries[0].GUID = "1"
		feed.List(entries...)
		w.secret(reader, "token", "token-of-"+reader)
	}
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		from := ofAnn
		if strings.HasSuffix(r.Header.Get("Authorization"), "-bob") {
			from = ofBob
		}
		http.Redirect(rw, r, from.FeedURL(), http.StatusFound)
		return true
	})
	for _, reader := range []string{"ann", "bob"} {
		w.source(reader, web.FeedURL(), postsTo("press"), func(source *v1alpha1.FeedSource) {
			source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: reader}, true
		})
		items := w.untilEnded(reader, 1)
		if items[0].Status.Reason != v1alpha1.ReasonNone {
			t.Errorf("the entry of %s is %s/%s: %+v", reader, items[0].Status.Phase, items[0].Status.Reason, items[0].Status.Deliveries)
		}
	}
	if posts := press.Posts(); len(posts) != 2 {
		t.Errorf("%d posts of two entries", len(posts))
	}
}
