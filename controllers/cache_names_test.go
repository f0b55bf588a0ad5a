// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R1.10: however many sources come and go, the names of few are kept; those in use are kept once.
func TestNamesThatNobodyUsesAreForgotten(t *testing.T) {
	t.Parallel()
	const most = 100
	pool := newNamePool(most)
	used := pool.get("press")
	for i := range 100 * most {
		name := fmt.Sprintf("gone-%d", i)
		if got := pool.get(name); got != name {
			t.Fatalf("%q became %q", name, got)
		}
		again := pool.get(strings.Clone("press"))
		if unsafe.StringData(again) != unsafe.StringData(used) {
			t.Fatalf("a name that is in use is kept twice after %d others", i)
		}
		if size := pool.size(); size > 2*most {
			t.Fatalf("%d names are kept, of %d in use at a time", size, most)
		}
	}
	if _, kept := pool.before["gone-1"]; kept || pool.recent["gone-1"] != "" {
		t.Error("a name that nobody uses is kept")
	}
	large := strings.Repeat("x", 1<<10) // as an answer of the API server is
	if part := large[:10]; unsafe.StringData(pool.get(part)) == unsafe.StringData(part) {
		t.Error("a name keeps all that it was cut out of")
	}
}

// The same for what the cache makes of items: names of theirs are in memory once.
func TestItemsShareTheirNames(t *testing.T) {
	t.Parallel()
	of := func() *v1alpha1.FeedItem {
		item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: strings.Clone("news-of-the-day"), Name: "x"}}
		item.Spec.SourceRef = v1alpha1.SourceReference{Name: strings.Clone("press-releases"), UID: types.UID(strings.Clone("0-1-2-3"))}
		slim, err := slimItem(item)
		if err != nil {
			t.Fatal(err)
		}
		return slim.(*v1alpha1.FeedItem) //nolint:forcetypeassert // it was one before
	}
	first, second := of(), of()
	if unsafe.StringData(first.Namespace) != unsafe.StringData(second.Namespace) ||
		unsafe.StringData(first.Spec.SourceRef.Name) != unsafe.StringData(second.Spec.SourceRef.Name) ||
		unsafe.StringData(string(first.Spec.SourceRef.UID)) != unsafe.StringData(string(second.Spec.SourceRef.UID)) {
		t.Error("two items have names of their own")
	}
}

// R1.10: what a feed calls itself is kept until the cache has it, and no longer than its source; a source that
// was made again under the same name is another one.
func TestNamesOfFeedsAreForgottenWithTheirSources(t *testing.T) {
	t.Parallel()
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "press", UID: "1"}}
	cached := source.DeepCopy()
	cached.Status.Title, cached.DeletionTimestamp = "The Press", &metav1.Time{Time: time.Unix(1, 0)} // so that no more is done
	for name, cache := range map[string]onlySource{"gone": {}, "in the cache with its name": {source: cached}} {
		names := &feedNames{}
		names.learn(source, "The Press")
		if got := names.of(source); got != "The Press" {
			t.Errorf("it is called %q", got)
		}
		again := source.DeepCopy()
		again.UID = "2"
		if got := names.of(again); got != "" {
			t.Errorf("another source is called %q", got)
		}
		names.learn(again, "Another")
		reconciler := &FeedSourceReconciler{Client: cache, Names: names, Schedule: schedule.New(clocktesting.NewFakeClock(time.Unix(1, 0)), func(string) {}, nil)}
		if _, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(source)}); err != nil {
			t.Fatal(err)
		}
		names.known.Range(func(key, _ any) bool {
			t.Errorf("%s: the name of %v is kept", name, key)
			return true
		})
	}
}

// onlySource is a cache that has a source, or none.
type onlySource struct {
	client.Client
	source *v1alpha1.FeedSource
}

func (c onlySource) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c.source == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "feedsources"}, key.Name)
	}
	c.source.DeepCopyInto(into.(*v1alpha1.FeedSource)) //nolint:forcetypeassert // nothing else is asked for
	return nil
}
