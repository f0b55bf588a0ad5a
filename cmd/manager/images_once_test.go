// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"syscall"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// illustrate gives each entry an image, and has the destination attach it.
func (n *newsroom) illustrate(t *testing.T) {
	t.Helper()
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	n.image = n.web.URL + "/image.png"
	n.web.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/image.png" {
			return false
		}
		_, _ = w.Write(drawn.Bytes())
		return true
	})
	described := &v1alpha1.FeedDestination{}
	described.Namespace, described.Name = n.namespace, "press"
	n.patch(t, described, `{"spec":{"mastodon":{"image":"Attach"}}}`)
}

// R4.4, R4.1: wherever the manager is killed, stopped or frozen, between the upload and the intent among others, there is one post of the item, and it
// shows the image that the item names. Nothing is uploaded again but where one manager does not know of the upload of another.
func TestAPostWithAnImageIsMadeOnceWhateverHappensToTheManager(t *testing.T) {
	t.Parallel()
	for instant, interrupt := range portion.Some(interruptions, 2) {
		t.Run(instant, func(t *testing.T) {
			t.Parallel()
			room := newNewsroom(t, counterparts[ignoresKeys])
			room.illustrate(t)
			first := room.observed(t)
			wake := interrupt(t, room, first)
			room.noteInterruption(t)

			second := room.manager(t)
			room.untilEnding(t, posted)
			if wake != nil {
				wake()
				room.publishNext(t)
				first.end(t, syscall.SIGTERM)
			}
			room.publishNext(t)
			second.end(t, syscall.SIGTERM)
			room.check(t, posted)
			row := lifecycle.RowOf(room.item(t, 1), "press")
			if shown := room.posts(1)[0].Images; len(shown) != 1 || row.Image == nil || row.Image.ID != shown[0].ID {
				t.Errorf("the post shows %d images, and the item says %+v", len(shown), row.Image)
			}
			most := room.listed
			if instant == beforeTheClaim || wake != nil { // two managers that act at the same time both upload, and one of them posts
				most++
			}
			if uploads := room.press.Uploads(); len(uploads) > most {
				t.Errorf("%d images were uploaded for %d entries", len(uploads), room.listed)
			}
		})
	}
}
