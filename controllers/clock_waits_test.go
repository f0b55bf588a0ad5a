// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

func tellsOfItsPod(w *world) {
	w.self = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: operatorPod}
}

// R1.4, R3.14: all feeds that there are wait for the network, and the API server's clock is set back by a day meanwhile. Once the network is back they are
// polled within two hours, and not in a day.
func TestFeedsThatWaitForTheNetworkArePolledThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{0, 23 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			const n = 3
			w := newWorld(t, tellsOfItsPod)
			h := newHosts(t, w, n)
			h.cut()
			w.clock.Step(30 * time.Minute)
			w.untilTold(v1alpha1.ReasonNetworkDown)
			w.ahead.Store(-int64(by))
			h.heal()
			until := w.clock.Now().Add(2 * time.Hour)
			w.untilSourceIn(time.Minute, "news-0", func(*v1alpha1.FeedSource) error {
				for i, web := range h.web {
					if web.Hits("/feed.xml") > 1 {
						return nil
					}
					w.lookAt(controllers.SourceKey, client.ObjectKey{Namespace: w.namespace, Name: fmt.Sprint("news-", i)})
				}
				if w.clock.Now().After(until) {
					t.Fatalf("none of %d feeds was polled in two hours with a network", n)
				}
				return errNotYet
			})
		})
	}
}

// R1.3, R3.14: a host has refused one feed for its pace, for a minute, and the API server's clock is set back by a day meanwhile. Another feed there is
// polled within the hour.
func TestAHostIsCalledAgainThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{0, 23 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			web := feedtest.New(t)
			web.OnRequest(refuse(429, "Retry-After", "60"))
			w.source("refused", web.FeedURL())
			w.untilSource("refused", func(source *v1alpha1.FeedSource) error {
				if source.Status.NotBefore == nil {
					return errNotYet
				}
				return nil
			})
			w.ahead.Store(-int64(by))
			web.OnRequest(nil)
			web.List(web.Entries("news", 1)...)
			w.source("other", web.URL+"/feed.xml?other")
			until := w.clock.Now().Add(time.Hour)
			w.untilSourceIn(time.Minute, "other", func(source *v1alpha1.FeedSource) error {
				if source.Status.LastPollTime != nil {
					return nil
				}
				if w.clock.Now().After(until) {
					t.Fatal("another feed of the host was not polled in an hour")
				}
				w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
				return errNotYet
			})
		})
	}
}
