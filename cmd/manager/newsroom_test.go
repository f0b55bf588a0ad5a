// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// callTimeout is how long a post may take. What was cut off is looked at 30 seconds later.
const callTimeout = 5 * time.Second

// newsroom is a namespace with one feed and one account to which it is posted.
type newsroom struct {
	namespace string
	proxy     *apiProxy
	web       *feedtest.Server
	press     *mastodontest.Server
	// image is that of each entry; empty: they have none.
	image string
	// listed is how many entries the feed has.
	listed int
	// notBefore is when the first entry may be posted, once its first manager is interrupted.
	notBefore time.Time
}

func newNewsroom(t *testing.T, options mastodontest.Options) *newsroom {
	t.Helper()
	room := &newsroom{namespace: server.Namespace(t), proxy: newAPIProxy(t), web: feedtest.New(t), press: mastodontest.New(options)}
	t.Cleanup(room.press.Close)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: room.namespace, Name: "press"}}
	secret.StringData = map[string]string{"accessToken": "token-of-the-press"}
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: room.namespace, Name: "press"}}
	destination.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: room.press.URL, SecretRef: v1alpha1.SecretReference{Name: "press"}}
	destination.Spec.Timeout = &metav1.Duration{Duration: callTimeout}
	for _, object := range []client.Object{secret, destination} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return room
}

// observed starts a manager whose requests to the API server can be caught.
func (n *newsroom) observed(t *testing.T, flags ...string) *process {
	t.Helper()
	return startWith(t, n.proxy.kubeconfig, n.namespace, append(flags, "--allow-http")...)
}

// manager starts a manager.
func (n *newsroom) manager(t *testing.T, flags ...string) *process {
	t.Helper()
	return start(t, n.namespace, append(flags, "--allow-http")...)
}

// open waits until the running manager may post, and only then adds the feed with its first entry:
// so the first claim is written together with the summary.
func (n *newsroom) open(t *testing.T) {
	t.Helper()
	n.untilReady(t, metav1.ConditionTrue)
	n.addFeed(t)
}

// openLate has the summary written while the destination is suspended, and returns when the post is
// about to be claimed: in a write of its own.
func (n *newsroom) openLate(t *testing.T) {
	t.Helper()
	n.untilReady(t, metav1.ConditionTrue)
	n.suspend(t, true)
	n.untilReady(t, metav1.ConditionFalse)
	n.addFeed(t)
	n.until(t, 1, "summarized", func(item *v1alpha1.FeedItem) bool { return item.Status.Summary != nil })
	n.suspend(t, false)
}

func (n *newsroom) untilReady(t *testing.T, ready metav1.ConditionStatus) {
	t.Helper()
	await(t, &v1alpha1.FeedDestinationList{}, n.namespace, "the destination's readiness is "+string(ready), func(d *v1alpha1.FeedDestination) bool {
		return meta.IsStatusConditionPresentAndEqual(d.Status.Conditions, v1alpha1.ConditionReady, ready)
	})
}

func (n *newsroom) suspend(t *testing.T, suspended bool) {
	t.Helper()
	n.patch(t, &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "press"}},
		fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspended))
}

func (n *newsroom) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	if err := server.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// addFeed creates the source of a feed with one entry.
func (n *newsroom) addFeed(t *testing.T) {
	t.Helper()
	n.listed = 1
	n.web.List(n.entries()...)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "news"}}
	source.Spec.URL = n.web.FeedURL()
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}}
	if err := server.Client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
}

// entries are those that are listed.
func (n *newsroom) entries() []feedtest.Entry {
	entries := n.web.Entries("news", n.listed)
	for i := range entries {
		entries[i].Image = n.image
	}
	return entries
}

// publishNext lists another entry, has the feed polled, and waits until the entry is posted. Whoever
// does that has also looked at all older items.
func (n *newsroom) publishNext(t *testing.T) {
	t.Helper()
	n.listed++
	n.web.List(n.entries()...)
	token := fmt.Sprintf("poll-%d", n.listed)
	n.patch(t, &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "news"}},
		fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationPoll, token))
	await(t, &v1alpha1.FeedSourceList{}, n.namespace, "the feed is polled", func(source *v1alpha1.FeedSource) bool {
		return source.Status.LastHandledPoll == token
	})
	n.until(t, n.listed, "posted", func(item *v1alpha1.FeedItem) bool { return item.Status.Phase == v1alpha1.PhaseProcessed })
}

// until waits for a state of the item of an entry.
func (n *newsroom) until(t *testing.T, entry int, what string, state func(*v1alpha1.FeedItem) bool) *v1alpha1.FeedItem {
	t.Helper()
	return await(t, &v1alpha1.FeedItemList{}, n.namespace, fmt.Sprintf("entry %d is %s", entry, what), func(item *v1alpha1.FeedItem) bool {
		return item.Spec.URL == n.link(entry) && state(item)
	})
}

// item reads the item of an entry.
func (n *newsroom) item(t *testing.T, entry int) *v1alpha1.FeedItem {
	t.Helper()
	return n.until(t, entry, "there", func(*v1alpha1.FeedItem) bool { return true })
}

// link of an entry, which is in its post and in no other.
func (n *newsroom) link(entry int) string { return n.web.ArticleURL(fmt.Sprintf("news-%d", entry)) }

// posts returns the posts of an entry.
func (n *newsroom) posts(entry int) []mastodontest.Post {
	var found []mastodontest.Post
	for _, post := range n.press.Posts() {
		if slices.Contains(strings.Fields(post.Text), n.link(entry)) { // not as a part of another one's
			found = append(found, post)
		}
	}
	return found
}

// await watches the objects of a namespace until one is in a state, and returns that.
func await[T any, P interface {
	*T
	client.Object
}](t *testing.T, list client.ObjectList, namespace, what string, state func(P) bool) P {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	objects, err := server.Client.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer objects.Stop()
	var last P
	for event := range objects.ResultChan() {
		object, ok := event.Object.(P)
		if !ok || event.Type == watch.Deleted {
			continue
		}
		if last = object; state(object) {
			return object
		}
	}
	t.Fatalf("waited %s in vain until %s; last seen: %+v", patience, what, last)
	return nil
}
