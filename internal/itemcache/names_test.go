// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R1.10: however many sources come and go, the names of few are kept; those in use are kept once.
func TestNamesThatNobodyUsesAreForgotten(t *testing.T) {
	t.Parallel()
	const most = 100
	pool := lru.New(most)
	used := sharedIn(pool, "press")
	for i := range 100 * most {
		name := fmt.Sprintf("gone-%d", i)
		if got := sharedIn(pool, name); got != name {
			t.Fatalf("%q became %q", name, got)
		}
		again := sharedIn(pool, strings.Clone("press"))
		if unsafe.StringData(again) != unsafe.StringData(used) {
			t.Fatalf("a name that is in use is kept twice after %d others", i)
		}
		if size := pool.Len(); size > most {
			t.Fatalf("%d names are kept, of %d in use at a time", size, most)
		}
	}
	if _, kept := pool.Get("gone-1"); kept {
		t.Error("a name that nobody uses is kept")
	}
	large := strings.Repeat("x", 1<<10) // as an answer of the API server is
	if part := large[:10]; unsafe.StringData(sharedIn(pool, part)) == unsafe.StringData(part) {
		t.Error("a name keeps all that it was cut out of")
	}
}

// The same for what the cache makes of items: names of theirs are in memory once.
func TestItemsShareTheirNames(t *testing.T) {
	t.Parallel()
	of := func() *v1alpha1.FeedItem {
		item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: strings.Clone("news-of-the-day"), Name: "x"}}
		item.Spec.SourceRef = v1alpha1.SourceReference{Name: strings.Clone("press-releases"), UID: types.UID(strings.Clone("0-1-2-3"))}
		slim, err := Slim(item)
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
