// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
)

// R3.13: what anybody may hang onto an item that waits is not kept in memory, but for what says something to the operator.
func TestWhatHangsOnAnUnfinishedItemIsNotKept(t *testing.T) {
	t.Parallel()
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{
		Namespace: "news", Name: "a", UID: "a", Labels: map[string]string{"team": "web"}, Finalizers: []string{"example.com/keep"},
		OwnerReferences: []metav1.OwnerReference{{Name: "blog"}},
		Annotations:     map[string]string{"example.com/note": "long", v1alpha1.AnnotationRetry: "1"},
	}}
	item.Status.Phase = v1alpha1.PhasePending
	if _, err := itemcache.Slim(item); err != nil {
		t.Fatal(err)
	}
	want := metav1.ObjectMeta{Namespace: "news", Name: "a", UID: "a", Annotations: map[string]string{v1alpha1.AnnotationRetry: "1"}}
	if diff := cmp.Diff(want, item.ObjectMeta); diff != "" {
		t.Errorf("kept of the metadata (-want +got)\n%s", diff)
	}
}
