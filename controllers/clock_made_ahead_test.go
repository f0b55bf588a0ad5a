// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R3.14, R1.3: a source is made while the API server's clock is ahead, as that of a machine whose own clock is not set by UTC until it has asked for the time.
// Once the clock is set right the source is polled as ever, and not when its clock has come to where it was.
func TestASourceThatWasMadeWhileTheClockWasAheadIsPolledOnceItIsSetRight(t *testing.T) {
	t.Parallel()
	for who, goesOn := range whoGoesOn {
		for _, by := range []time.Duration{9 * time.Hour, aYear} {
			for name, answers := range map[string]feedtest.Hook{"the feed was read": nil, "it could not be read": refuse(http.StatusInternalServerError)} {
				t.Run(who+", "+by.String()+", "+name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					web := feedtest.New(t)
					web.List(web.Entries("news", 1)...)
					web.OnRequest(answers)
					w.source("news", web.FeedURL())
					w.untilSource("news", func(source *v1alpha1.FeedSource) error {
						if source.Status.LastPollTime == nil {
							return errNotYet
						}
						return nil
					})
					web.OnRequest(nil)
					w.ahead.Store(-int64(by))
					goesOn(w)
					polls, until := web.Hits("/feed.xml"), w.clock.Now().Add(2*time.Hour)
					w.untilSourceIn(5*time.Minute, "news", func(source *v1alpha1.FeedSource) error {
						w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
						switch {
						case web.Hits("/feed.xml") > polls:
							return nil
						case w.clock.Now().After(until):
							t.Fatalf("it was polled %d times, and not again in two hours; it is %s, and it was made at %s",
								polls, w.clock.Now().Add(-by), source.CreationTimestamp)
						}
						return errors.New("not polled")
					})
				})
			}
		}
	}
}

// R3.14, R1.5: a source with an empty feed is made while the API server's clock is a year ahead. What its feed lists after the clock is set right is news.
func TestNewsIsNewThoughItsSourceWasMadeWhileTheClockWasAYearAhead(t *testing.T) {
	t.Parallel()
	const n = 4
	w := newWorld(t)
	web := feedtest.New(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.InitialItems = new(int32(1)) })
	w.poll("news")
	w.ahead.Store(-int64(aYear))
	now := w.clock.Now().Add(-aYear)
	entries := web.Entries("news", n)
	for i := range entries {
		entries[i].Published = now.Add(time.Duration(i) * time.Second)
	}
	web.List(entries...)
	w.poll("news")
	items, err := w.items(t.Context(), "news")
	if err != nil || len(items) != n {
		t.Errorf("%d items of %d entries that are new: %v", len(items), n, err)
	}
}
