// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R2.10, R3.14: nothing is removed because the API server's clock is a year ahead for a moment: what is removed does not come back when it is
// set right.
func TestNothingIsRemovedWhileTheClockIsAYearAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	source := w.source("news", web.FeedURL(), rarely, func(source *v1alpha1.FeedSource) {
		source.Spec.Retention = &v1alpha1.RetentionPolicy{KeepLast: new(int32(0))}
	})
	w.untilItems("news", allProcessed(3))
	w.untilRemembered(1)
	w.untilUpToDate()
	w.ahead.Store(int64(aYear))
	w.retain(source, 3)
	w.ahead.Store(0)
	w.retain(source, 3)
	w.clock.Step(8 * 24 * time.Hour)
	w.retain(source, 0)
}
