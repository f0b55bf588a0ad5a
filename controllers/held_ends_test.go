// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
)

// R3.14, R3.8: the only item of a namespace of which no writes are taken is deleted, or its source with it. Nobody is left to find out that
// they are taken again; the notice that the credentials of its provider are refused is sent all the same, and the source does not go on
// saying that its items are held.
func TestAHoldEndsWithTheOnlyItemThatFindsOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refused := w.refuses(overQuota, "")
	admin := w.mastodon()
	w.openDestination("admin", admin.URL, seenBy(v1alpha1.VisibilityDirect))
	gemini := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	gemini.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
		refused.on.Store(true)
		return geminitest.KeyInvalid(), true
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"), tells("admin"))
	w.last(refused)
	w.untilSource("news", saysHeld("exceeded quota"))
	items, err := w.items(t.Context(), "news")
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items (%v)", len(items), err)
	}
	if err := w.client.Delete(t.Context(), &items[0], client.Preconditions{UID: &items[0].UID}); err != nil {
		t.Fatal(err)
	}
	w.untilUpToDate()
	refused.on.Store(false)
	posts(t, admin, 1)
	w.untilSource("news", saysHeld(""))
}
