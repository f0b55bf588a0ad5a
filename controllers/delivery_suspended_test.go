// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.4, R4.5: a destination is suspended, or posts elsewhere, while a post is looked for at it that may have been made. It was not made, and it is
// not made there now: as a person wants it, and once.
func TestADestinationThatIsChangedDuringALookGetsNoPost(t *testing.T) {
	t.Parallel()
	for how, wants := range map[string]bool{"suspended": true, "another server": false} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server, other := w.mastodon(ignoresKeys), w.mastodon(ignoresKeys)
			w.openDestination("press", server.URL, patient)
			server.OnPost(func(p *mastodontest.Pending) bool { p.Reset(); return true })
			w.oneItem("press")
			item := w.untilItem("news", hasFailed("press", 1))
			server.OnPost(nil)
			var looked gate
			server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/verify_credentials") {
					looked.pass(r)
				}
				return false
			})
			open := looked.close(t)
			w.clock.SetTime(item.Status.Deliveries[0].NextRetryTime.Time)
			w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(item))
			apitest.Eventually(t, func(context.Context) error { return looked.isHeld() })
			posts := server
			if wants {
				w.changeDestination("press", `{"spec":{"suspend":true}}`)
				w.untilDestination("press", isClosed(v1alpha1.ReasonSuspended))
			} else {
				posts = other
				w.changeDestination("press", `{"spec":{"mastodon":{"server":"`+other.URL+`"}}}`)
				w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
					if err := isOpen(d); err != nil || d.Generation > 1 {
						return err
					}
					return errors.New("not looked at yet")
				})
			}
			open()
			if wants {
				settled := w.untilItem("news", func(item *v1alpha1.FeedItem) error {
					if row, err := rowTo(item, "press"); err != nil || row.State == v1alpha1.DeliveryIntent {
						return errors.Join(err, errors.New("not settled yet"))
					}
					return nil
				})
				if err := inState("press", v1alpha1.DeliveryQueued)(settled); err != nil {
					t.Error(err)
				}
				w.changeDestination("press", `{"spec":{"suspend":false}}`)
			}
			w.untilItem("news", func(item *v1alpha1.FeedItem) error {
				row, err := rowTo(item, "press")
				if err == nil && row.NextRetryTime != nil && row.NextRetryTime.After(w.clock.Now()) {
					w.clock.SetTime(row.NextRetryTime.Time)
				}
				return errors.Join(err, inState("press", v1alpha1.DeliveryDone)(item))
			})
			if got := len(posts.Posts()); got != 1 {
				t.Errorf("%d posts where it posts now, want 1", got)
			}
			if got := len(server.Posts()) + len(other.Posts()); got != 1 {
				t.Errorf("%d posts in all, want 1", got)
			}
		})
	}
}
