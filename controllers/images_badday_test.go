// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const enclosedImage = `<enclosure url="HERE/image.png" type="image/png"/>`

// R3.14, R4.4: while the API server takes no writes, the image of a post that could not be announced is not uploaded again and again; and the post shows it in the end.
func TestAnImageIsNotUploadedForEachIntentThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]struct {
		answer      metav1.Status
		intentsOnly bool
	}{
		"a database that is full":            {answer: metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "etcdserver: mvcc: database space exceeded"}},
		"a policy that refuses intents only": {metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "denied by a policy: no posts today"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			var refused atomic.Int32
			var over atomic.Bool
			w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
				if over.Load() || !strings.Contains(body, `"state":"Intent"`) && (refusal.intentsOnly || server.Count(toUpload) == 0) {
					return nil
				}
				refused.Add(1)
				return &refusal.answer
			})
			w.postsIllustrated(server, illustrated(t, enclosedImage, ""))
			began := time.Time{}
			w.timePassesBy(20*time.Second, func() error {
				if server.Count(toUpload) == 0 {
					return errNotYet
				}
				if began.IsZero() {
					began = w.clock.Now()
				}
				if w.clock.Since(began) < time.Hour {
					return errNotYet
				}
				return nil
			})
			uploads := server.Count(toUpload)
			t.Logf("%d uploads, %d refused writes", uploads, refused.Load())
			over.Store(true)
			w.untilThereArePosts(server)
			if row, post := w.untilPosted(server); len(post.Images) != 1 || uploads > 3 {
				t.Errorf("%d uploads in an hour, and %d in all; it shows %d images, and the item says %+v", uploads, server.Count(toUpload), len(post.Images), row.Image)
			}
		})
	}
}

// movesTo has a destination post to another server, and returns when the operator knows.
func (w *world) movesTo(name, serverURL string) {
	w.t.Helper()
	w.changeDestination(name, fmt.Sprintf(`{"spec":{"mastodon":{"server":%q}}}`, serverURL))
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var known v1alpha1.FeedDestination
		if err := w.manager.GetClient().Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &known); err != nil {
			return err
		}
		if known.Spec.Mastodon.Server != serverURL {
			return errNotYet
		}
		return nil
	})
}

// R4.4: the ID of an image means nothing at another server. A post that goes there instead has the image of its entry.
func TestAPostThatGoesToAnotherServerHasItsImageThere(t *testing.T) {
	t.Parallel()
	t.Run("moved during the upload", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		first, second := w.mastodon(), w.mastodon()
		var once sync.Once
		first.OnRequest(onMedia(func(http.ResponseWriter, *http.Request) bool {
			once.Do(func() { w.movesTo("press", second.URL) })
			return false
		}))
		w.postsIllustrated(first, illustrated(t, enclosedImage, ""))
		row, post := w.untilPosted(second)
		if len(post.Images) != 1 || second.Count(toUpload) != 1 || second.Count("POST /api/v1/statuses") != 1 || len(first.Posts()) != 0 {
			t.Errorf("it shows %d images, after %d uploads and %d requests; the item says %+v", len(post.Images), second.Count(toUpload), second.Count("POST /api/v1/statuses"), row.Image)
		}
	})
	t.Run("moved after a failure", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		first, second := w.mastodon(), w.mastodon()
		first.OnPost(func(p *mastodontest.Pending) bool {
			p.Header().Set("Retry-After", "60")
			p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
			return true
		})
		w.postsIllustrated(first, illustrated(t, enclosedImage, ""))
		w.untilItem("news", hasFailed("press", 1))
		w.movesTo("press", second.URL)
		w.untilThereArePosts(second)
		row, post := w.untilPosted(second)
		if len(post.Images) != 1 || second.Count(toUpload) != 1 || len(first.Posts()) != 0 {
			t.Errorf("it shows %d images, after %d uploads and %d requests; the item says %+v", len(post.Images), second.Count(toUpload), second.Count("POST /api/v1/statuses"), row.Image)
		}
	})
}

// R4.1: who turns images off gets none from then on, also with what was uploaded before.
func TestAPostShowsNoImageAfterTheyWereTurnedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var refused atomic.Bool
	server.OnPost(func(p *mastodontest.Pending) bool {
		if refused.Swap(true) {
			return false
		}
		p.Header().Set("Retry-After", "60")
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
		return true
	})
	w.postsIllustrated(server, illustrated(t, enclosedImage, ""))
	w.untilItem("news", hasFailed("press", 1))
	w.changeDestination("press", `{"spec":{"mastodon":{"image":"None"}}}`)
	if row, post := w.untilPosted(server); len(post.Images) != 0 {
		t.Errorf("it shows %d images; the item says %+v", len(post.Images), row.Image)
	}
}

// R4.1, R4.4: a server that is away when an image is uploaded, and then for the post too, costs neither: the next attempt has both, once.
func TestAnImageIsNotLostToAServerThatIsAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(http.ResponseWriter){
		"in maintenance": refusing(503, "Maintenance"),
		"its connections are reset": func(w http.ResponseWriter) {
			if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = connection.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			var back atomic.Bool
			server.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || back.Load() {
					return false
				}
				away(rw)
				return true
			})
			w.postsIllustrated(server, illustrated(t, enclosedImage, ""))
			w.untilItem("news", hasFailed("press", 1))
			back.Store(true)
			if row, post := w.untilPosted(server); len(post.Images) != 1 || len(server.Uploads()) != 1 {
				t.Errorf("it shows %d images after %d uploads; the item says %+v", len(post.Images), server.Count(toUpload), row.Image)
			}
		})
	}
}

// untilThereArePosts lets time pass until something is posted at a server.
func (w *world) untilThereArePosts(server *mastodontest.Server) {
	w.t.Helper()
	w.timePassesBy(10*time.Second, func() error {
		if len(server.Posts()) == 0 {
			return errNotYet
		}
		return nil
	})
}

// R4.1: servers delete an image that no post shows after a while. A post that was held up for longer has it uploaded once more.
func TestAnImageThatIsTooOldForAnAttemptIsUploadedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var refused atomic.Bool
	server.OnPost(func(p *mastodontest.Pending) bool {
		if refused.Swap(true) {
			return false
		}
		p.Header().Set("Retry-After", "60")
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
		return true
	})
	w.postsIllustrated(server, illustrated(t, enclosedImage, ""))
	w.untilItem("news", hasFailed("press", 1))
	server.ForgetUploads()
	w.untilThereArePosts(server)
	if row, post := w.untilPosted(server); len(post.Images) != 1 || server.Count(toUpload) != 2 || row.FailedAttempts != 1 {
		t.Errorf("it shows %d images after %d uploads; the item says %+v", len(post.Images), server.Count(toUpload), row)
	}
}

// R3.14, R4.1: a clock that is set while the server works on an image costs the post neither the image nor more time.
func TestAnImageIsWaitedForThoughTheClockIsSetMeanwhile(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(func(o *mastodontest.Options) { o.ImageChecks = 3 })
			server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/media/") {
					w.ahead.Store(int64(by))
				}
				return false
			})
			w.postsIllustrated(server, illustrated(t, enclosedImage, ""))
			w.timePasses(func() error {
				if len(server.Posts()) == 0 {
					return errNotYet
				}
				return nil
			})
			if row, post := w.untilPosted(server); len(post.Images) != 1 || server.Count("POST /api/v1/statuses") != 1 {
				t.Errorf("it shows %d images; the item says %+v", len(post.Images), row.Image)
			}
		})
	}
}
