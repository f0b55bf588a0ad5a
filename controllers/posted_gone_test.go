// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R3.13, R4.4: a namespace is deleted with all that is in it, right after something was posted there. Nothing of it can be written any more,
// and nobody goes on trying for ever.
func TestPostsOfANamespaceThatIsGoneAreNotWrittenForEver(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2, onRealServer)
	w, leaving := tenants[0], tenants[1]
	var tries atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, leaving.namespace+"/feedmemories") {
			tries.Add(1)
		}
		return nil
	})
	server := w.mastodon()
	leaving.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	leaving.source("news", web.FeedURL(), postsTo("press"))
	leaving.untilItems("news", allProcessed(2))
	leaving.end()
	for range 5 {
		w.clock.Step(time.Minute)
		w.settles()
	}
	tries.Store(0)
	const minutes = 10
	for range minutes {
		w.clock.Step(time.Minute)
		w.settles()
	}
	if n := tries.Load(); n > 0 {
		t.Errorf("%d writes into a namespace that is gone, in %d minutes", n, minutes)
	}
}

// end deletes the namespace with all that is in it, as the controllers of a cluster do.
func (w *world) end() {
	w.t.Helper()
	ctx := w.t.Context()
	namespaces := kubernetes.NewForConfigOrDie(w.api.Config).CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.remove("news")
	if _, err := namespaces.Finalize(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// settles gives what a minute has begun the time to happen: a source is made and polled meanwhile.
func (w *world) settles() {
	w.t.Helper()
	name := fmt.Sprintf("mark-%d", w.clock.Now().UnixNano())
	w.source(name, feedtest.New(w.t).FeedURL())
	w.untilSource(name, func(source *v1alpha1.FeedSource) error {
		if source.Status.LastPollTime == nil {
			return errNotYet
		}
		return nil
	})
}
