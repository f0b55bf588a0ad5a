// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const toUpload = "POST /api/v2/media"

// drawing is an image as servers take it.
func drawing(t *testing.T) []byte {
	t.Helper()
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return drawn.Bytes()
}

// illustrated makes a web server whose feed has one entry, with these elements more, whose page has these in its head, and which
// has an image at /image.png. HERE in the elements is the address of the server.
func illustrated(t *testing.T, elements, head string) *feedtest.Server {
	t.Helper()
	web, drawn := feedtest.New(t), drawing(t)
	web.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/feed.xml":
			_, _ = fmt.Fprintf(w, `<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>News</title><item><title>News about news-1</title>`+
				`<link>%s/articles/news-1</link>%s</item></channel></rss>`, web.URL, strings.ReplaceAll(elements, "HERE", web.URL))
		case "/image.png":
			_, _ = w.Write(drawn)
		case "/page.html":
			_, _ = w.Write([]byte("<!doctype html><title>No image</title>"))
		case "/large.png":
			_, _ = w.Write(append(drawn, make([]byte, 9<<20)...))
		default:
			if r.URL.Path != "/articles/news-1" || head == "" {
				return false
			}
			answer := &strings.Builder{}
			feedtest.ServeArticle(pageWriter{w, answer}, "news-1")
			_, _ = w.Write([]byte(strings.Replace(answer.String(), "<head>", "<head>"+head, 1)))
		}
		return true
	})
	return web
}

// pageWriter collects a page.
type pageWriter struct {
	http.ResponseWriter
	page *strings.Builder
}

func (p pageWriter) Write(part []byte) (int, error) { return p.page.Write(part) }

// attaches asks for images.
func attaches(described *v1alpha1.FeedDestination) {
	described.Spec.Mastodon.Image = v1alpha1.ImageAttach
}

// postsIllustrated makes a destination that asks for images, and a source of a web server that posts there.
func (w *world) postsIllustrated(server *mastodontest.Server, web *feedtest.Server, change ...func(*v1alpha1.FeedDestination)) {
	w.t.Helper()
	w.openDestination("press", server.URL, append(change, attaches)...)
	w.source("news", web.FeedURL(), postsTo("press"))
}

// untilPosted lets time pass until the one item is posted, and returns the delivery and the post, of which there is one.
func (w *world) untilPosted(server *mastodontest.Server) (*v1alpha1.Delivery, mastodontest.Post) {
	w.t.Helper()
	item := w.untilEnded("news", 1)[0]
	if err := onePostEach(server, "/articles/news-1"); err != nil {
		w.t.Fatal(err)
	}
	row, err := rowTo(&item, "press")
	if err != nil || row.State != v1alpha1.DeliveryDone {
		w.t.Fatalf("delivery %+v: %v", row, err)
	}
	return row, server.Posts()[0]
}

// R4.1: where a destination asks for it, a post shows the image that the feed gives the entry, else that of its page, with its alternative text.
func TestAPostShowsTheImageOfItsEntry(t *testing.T) {
	t.Parallel()
	const ofPage = `<meta property="og:image" content="/image.png"><meta property="og:image:alt" content="From the page">`
	for name, test := range map[string]struct{ elements, head, wantAlt string }{
		"an enclosure": {elements: `<enclosure url="HERE/image.png" type="image/png" length="1"/>`},
		"a medium with a text": {
			elements: `<media:content url="HERE/image.png" medium="image"><media:description type="html">A &lt;b&gt;grey&lt;/b&gt; square</media:description></media:content>`,
			wantAlt:  "A grey square",
		},
		"a thumbnail":                         {elements: `<media:thumbnail url="HERE/image.png"/>`},
		"the page":                            {head: ofPage, wantAlt: "From the page"},
		"the feed's own, though the page has": {elements: `<enclosure url="HERE/image.png" type="image/png"/>`, head: strings.ReplaceAll(ofPage, "/image.png", "/other.png")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			w.postsIllustrated(server, illustrated(t, test.elements, test.head))
			row, post := w.untilPosted(server)
			if len(post.Images) != 1 || !bytes.Equal(post.Images[0].Content, drawing(t)) || post.Images[0].Type != "image/png" {
				t.Fatalf("it shows %d images; %+v", len(post.Images), row.Image)
			}
			if got := post.Images[0].Description; got != test.wantAlt {
				t.Errorf("its text is %q, want %q", got, test.wantAlt)
			}
			if row.Image == nil || row.Image.ID != post.Images[0].ID || row.Image.Message != "" || server.Count(toUpload) != 1 {
				t.Errorf("the item says %+v, after %d uploads", row.Image, server.Count(toUpload))
			}
		})
	}
}

// R4.1: nothing is fetched or uploaded where nobody has asked for images, or there is none.
func TestNoImageIsFetchedThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		elements string
		change   func(*v1alpha1.FeedDestination)
	}{
		"not asked for": {`<enclosure url="HERE/image.png" type="image/png"/>`, func(d *v1alpha1.FeedDestination) { d.Spec.Mastodon.Image = "" }},
		"no image":      {`<enclosure url="HERE/image.png" type="audio/mpeg"/>`, attaches},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server, web := w.mastodon(), illustrated(t, test.elements, "")
			w.openDestination("press", server.URL, test.change)
			w.source("news", web.FeedURL(), postsTo("press"))
			row, post := w.untilPosted(server)
			if len(post.Images) != 0 || row.Image != nil || server.Count(toUpload) != 0 || web.Hits("/image.png") != 0 {
				t.Errorf("it shows %d images, and was asked for %d; the item says %+v", len(post.Images), web.Hits("/image.png"), row.Image)
			}
		})
	}
}

// R4.1, R5.1: an image that cannot be had, or is none, costs the post nothing but the image; the item says why, and the destination stays open.
func TestAPostGoesOutWithoutAnImageThatCannotBeHad(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		address string
		media   func(http.ResponseWriter)
		checks  int
		says    string
	}{
		"there is none":          {address: "HERE/missing.png", says: "404"},
		"a page":                 {address: "HERE/page.html", says: "is no image"},
		"too large":              {address: "HERE/large.png", says: "8 MiB"},
		"a private address":      {address: "http://10.0.0.1/image.png", says: "10.0.0.1"},
		"cloud credentials":      {address: "http://169.254.169.254/latest/meta-data", says: "169.254.169.254"},
		"refused":                {address: "HERE/image.png", media: refusing(422, "Validation failed: File is odd"), says: "File is odd"},
		"the token may not":      {address: "HERE/image.png", media: refusing(403, "This action is outside the authorized scopes"), says: "write:media"},
		"the server's own error": {address: "HERE/image.png", media: refusing(500, "Oops"), says: "500"},
		"never ready":            {address: "HERE/image.png", checks: 1000, says: "not finished"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(func(o *mastodontest.Options) { o.ImageChecks = test.checks })
			if test.media != nil {
				server.OnRequest(onMedia(func(rw http.ResponseWriter, _ *http.Request) bool { test.media(rw); return true }))
			}
			w.postsIllustrated(server, illustrated(t, fmt.Sprintf(`<enclosure url="%s" type="image/png"/>`, test.address), ""))
			w.timePasses(func() error {
				if len(server.Posts()) == 0 {
					return errNotYet
				}
				return nil
			})
			row, post := w.untilPosted(server)
			if len(post.Images) != 0 || row.Image == nil || row.Image.ID != "" || !strings.Contains(row.Image.Message, test.says) {
				t.Errorf("it shows %d images, and the item says %+v, want %q", len(post.Images), row.Image, test.says)
			}
			if row.FailedAttempts != 0 || row.Failure != nil || server.Count(toUpload) > 1 {
				t.Errorf("it counts as a failure: %+v, after %d uploads", row, server.Count(toUpload))
			}
			w.untilDestination("press", isOpen)
		})
	}
}

func refusing(status int, words string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, words)
	}
}

// onMedia is a hook for uploads.
func onMedia(hook func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/media") && hook(w, r)
	}
}

// R4.1: an image that the server works on for a while is waited for.
func TestAnImageIsWaitedForUntilItIsReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(func(o *mastodontest.Options) { o.ImageChecks = 3 })
	w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
	w.timePasses(func() error {
		if len(server.Posts()) == 0 {
			return errNotYet
		}
		return nil
	})
	if row, post := w.untilPosted(server); len(post.Images) != 1 || server.Count("GET /api/v1/media/{id}") != 3 {
		t.Errorf("it shows %d images, asked for %d times; the item says %+v", len(post.Images), server.Count("GET /api/v1/media/{id}"), row.Image)
	}
}

// R3.4, R4.1: a server that wants a pause at the upload gets it, and the post waits as for any other call; then it is made, with its image.
func TestAPauseThatIsAskedForAtTheUploadHoldsThePost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var refused atomic.Bool
	server.OnRequest(onMedia(func(rw http.ResponseWriter, _ *http.Request) bool {
		if refused.Swap(true) {
			return false
		}
		rw.Header().Set("Retry-After", "600")
		refusing(429, "Too many requests")(rw)
		return true
	}))
	w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
	w.untilItem("news", hasFailed("press", 1))
	if made := server.Count("POST /api/v1/statuses"); made != 0 {
		t.Errorf("%d posts in the pause", made)
	}
	if row, post := w.untilPosted(server); len(post.Images) != 1 || server.Count(toUpload) != 2 {
		t.Errorf("it shows %d images after %d uploads; the item says %+v", len(post.Images), server.Count(toUpload), row.Image)
	}
}

// R3.4, R4.1: a server that has taken an image, and wants a pause while it works on that, does not get it once more after each pause.
func TestAnImageThatWasTakenIsNotUploadedAgainAfterAPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(func(o *mastodontest.Options) { o.ImageChecks = 1 })
	var asked atomic.Int32
	server.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/media/") || r.Header.Get("Inside") != "" {
			return false
		}
		asked.Add(1)
		inside := r.Clone(r.Context())
		inside.RequestURI, inside.URL.Scheme, inside.URL.Host = "", "http", r.Host
		inside.Header.Set("Inside", "yes")
		if done, err := http.DefaultClient.Do(inside); err == nil { // it goes on with its work
			_ = done.Body.Close()
		}
		rw.Header().Set("Retry-After", "600")
		refusing(429, "Too many requests")(rw)
		return true
	})
	w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
	w.timePasses(func() error {
		if asked.Load() == 0 {
			return errNotYet
		}
		return nil
	})
	w.untilItem("news", hasFailed("press", 1))
	if row, post := w.untilPosted(server); server.Count(toUpload) != 1 || asked.Load() != 1 || len(post.Images) != 1 {
		t.Errorf("it was uploaded %d times; the post shows %d images, and the item says %+v", server.Count(toUpload), len(post.Images), row)
	}
}

// R3.8: a token that is refused at the upload closes the destination, and nothing is posted with it.
func TestATokenThatIsRefusedAtTheUploadClosesTheDestination(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	server.OnRequest(onMedia(func(rw http.ResponseWriter, _ *http.Request) bool {
		refusing(401, "The access token was revoked")(rw)
		return true
	}))
	w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
	w.untilItem("news", inState("press", v1alpha1.DeliveryDead))
	if made := server.Count("POST /api/v1/statuses"); made != 0 || server.Count(toUpload) != 1 {
		t.Errorf("%d posts and %d uploads", made, server.Count(toUpload))
	}
}

// R4.4: an image that is gone when its post is made does not keep the post from being made, once, without it; and at once, also while the cache
// shows the attempt before as one that may still be under way.
func TestAPostWhoseImageIsGoneIsMadeWithoutIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	open := func() {}
	var attempts atomic.Int32
	server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/statuses"):
		case attempts.Add(1) == 1:
			w.untilCacheShows("press", v1alpha1.DeliveryIntent)
			open = w.faults.behind.close(t)
			server.ForgetUploads()
		default:
			open()
		}
		return false
	})
	w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
	row, post := w.untilPosted(server)
	if len(post.Images) != 0 || row.Image == nil || !strings.Contains(row.Image.Message, "not found") || row.FailedAttempts != 0 {
		t.Errorf("it shows %d images, and the item says %+v of %+v", len(post.Images), row.Image, row)
	}
	if requests := server.Count("POST /api/v1/statuses"); requests != 2 || server.Count(toUpload) != 1 {
		t.Errorf("%d requests to post, after %d uploads", requests, server.Count(toUpload))
	}
}

// untilCacheShows returns when the operator's cache shows the only item with a delivery in a state.
func (w *world) untilCacheShows(destination string, state v1alpha1.DeliveryState) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var items v1alpha1.FeedItemList
		if err := w.manager.GetClient().List(ctx, &items, client.InNamespace(w.namespace)); err != nil || len(items.Items) == 0 {
			return errors.Join(err, errNotYet)
		}
		if row, err := rowTo(&items.Items[0], destination); err != nil || row.State != state {
			return errors.Join(err, errNotYet)
		}
		return nil
	})
}

// R4.4: a post that has failed for certain is made again with the image that is there already.
func TestAnImageIsUploadedOnceForAllAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var refused atomic.Int32
	server.OnPost(func(p *mastodontest.Pending) bool {
		if refused.Add(1) > 2 {
			return false
		}
		p.Header().Set("Retry-After", "60")
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
		return true
	})
	w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
	if row, post := w.untilPosted(server); len(post.Images) != 1 || server.Count(toUpload) != 1 || row.FailedAttempts != 2 {
		t.Errorf("it shows %d images after %d uploads; the item says %+v", len(post.Images), server.Count(toUpload), row)
	}
}

// R4.4: a source that is suspended while an image is uploaded has nothing posted; when it goes on, the post has that image.
func TestWhatIsStoppedDuringTheUploadIsNotPosted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var once atomic.Bool
	server.OnRequest(onMedia(func(http.ResponseWriter, *http.Request) bool {
		if !once.Swap(true) {
			w.pauseSource(true)
		}
		return false
	}))
	w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
	w.untilItem("news", func(item *v1alpha1.FeedItem) error {
		if row, err := rowTo(item, "press"); err != nil || row.Image == nil {
			return errNotYet
		}
		return nil
	})
	if made := server.Count("POST /api/v1/statuses"); made != 0 {
		t.Errorf("%d posts of a source that is suspended", made)
	}
	w.pauseSource(false)
	if row, post := w.untilPosted(server); len(post.Images) != 1 || server.Count(toUpload) != 1 {
		t.Errorf("it shows %d images after %d uploads; the item says %+v", len(post.Images), server.Count(toUpload), row)
	}
}

// pauseSource stops the source "news", or lets it go on, and returns when the operator knows.
func (w *world) pauseSource(suspended bool) {
	w.t.Helper()
	source := &v1alpha1.FeedSource{}
	source.Namespace, source.Name = w.namespace, "news"
	w.suspend(source, suspended)
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var known v1alpha1.FeedSource
		if err := w.manager.GetClient().Get(ctx, client.ObjectKeyFromObject(source), &known); err != nil {
			return err
		}
		if known.Spec.Suspend != suspended {
			return errNotYet
		}
		return nil
	})
}

// R4.4: where the answer to a post with an image is lost, the post is found, also by another process.
func TestAPostWithAnImageIsFoundWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(*mastodontest.Options){
		"a server that ignores keys": ignoresKeys,
		"a server that is Mastodon":  func(*mastodontest.Options) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(options)
			server.OnPost(func(p *mastodontest.Pending) bool {
				p.Commit()
				p.Reset()
				return true
			})
			w.postsIllustrated(server, illustrated(t, `<enclosure url="HERE/image.png" type="image/png"/>`, ""))
			w.untilItem("news", hasFailed("press", 1))
			server.OnPost(nil)
			w.restart()
			if row, post := w.untilPosted(server); len(post.Images) != 1 || row.Image.ID != post.Images[0].ID || server.Count(toUpload) != 1 {
				t.Errorf("it shows %d images after %d uploads; the item says %+v", len(post.Images), server.Count(toUpload), row)
			}
		})
	}
}
