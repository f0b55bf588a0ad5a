// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/picture"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// leaping is a clock on which each wait is over at once, once something else has happened.
type leaping struct {
	*clocktesting.FakeClock
	meanwhile func()
}

func (l leaping) After(wait time.Duration) <-chan time.Time {
	l.Step(wait)
	l.meanwhile()
	over := make(chan time.Time, 1)
	over <- l.Now()
	return over
}

// R3.13, R5.1: an image whose host is slow, and for which there is no room in the end, is not asked for again and again: what that takes counts as
// waiting, and the posts behind it wait too.
func TestASlowImageWithoutRoomIsNotAskedForAgainAndAgain(t *testing.T) {
	t.Parallel()
	clock := leaping{FakeClock: clocktesting.NewFakeClock(noon)}
	memory := budget.New(budget.Min, clock.Now)
	var others []*budget.Room // of the namespace: there is room when the image is asked for, and none when it comes
	clock.meanwhile = func() {
		for _, room := range others {
			room.Release()
		}
		others = nil
	}
	asked := 0
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		clock.Step(picture.Timeout - time.Second)
		for room := memory.Document("news"); room.Grow(64<<10) == nil; room = memory.Document("news") {
			others = append(others, room)
		}
		_, _ = w.Write(make([]byte, 4<<20))
	}))
	defer host.Close()
	plan := schedule.New(clock, func(string) {}, map[schedule.Kind]schedule.Limit{schedule.KindHost: {Concurrent: 1}})
	plan.Open()
	images := NewImages(clock, plan, picture.NewFetcher(outbound.New(outbound.Config{
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Budget: memory, Now: clock.Now,
	})))
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name = "news", "press-1"
	item.Spec.Image = &v1alpha1.EntryImage{URL: host.URL + "/image.png"}
	_, _, err := images.fetch(t.Context(), item, &post{Line: &posting.Line{Destination: "press"}}, picture.Limits{}, images.pictures.Room("news"))
	if !errors.Is(err, budget.ErrFull) || asked == 0 {
		t.Fatalf("after %d requests: %v", asked, err)
	}
	if took := clock.Since(noon); took > imagePatience+picture.Timeout {
		t.Errorf("the posts behind it have waited for %s, and %d requests", took, asked)
	}
}
