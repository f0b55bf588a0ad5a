// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
)

// R3.5, R3.9: a key is replaced while the service cannot be asked about itself, and then the quota of the new one is spent. The pause outlives the
// operator all the same.
func TestAPauseOutlivesTheOperatorThoughTheServiceCouldNotBeChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := geminitest.New(apiKey)
	t.Cleanup(server.Close)
	var broken atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && broken.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		server.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w.secret("gemini", "apiKey", apiKey)
	w.provider("gemini", ofGemini.asks(front.URL, "gemini"))
	w.untilProvider("gemini", isReady)
	broken.Store(true)
	w.secret("gemini", "apiKey", otherKey)
	server.SetKey(otherKey)
	w.changeProvider("gemini", `{"spec":{"timeout":"31s"}}`)
	w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if p.Status.ObservedGeneration != p.Generation {
			return errNotYet
		}
		return isReady(p)
	})
	server.Next(geminitest.QuotaPerDay())
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonQuotaSpent))
	made := len(server.Calls())
	w.restart()
	w.settles()
	w.lookAtItems("news")
	w.clock.Step(time.Second)
	w.settles()
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonQuotaSpent))
	if got := len(server.Calls()); got != made {
		t.Errorf("%d calls before the pause ends, want %d", got, made)
	}
	w.clock.Step(25 * time.Hour)
	w.settles()
	w.lookAtItems("news")
	w.itemsInTime("news", allProcessed(1))
}
