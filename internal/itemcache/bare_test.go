// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// R3.13: what anybody may hang onto an item that waits is not kept in memory, but for what says something to the operator.
func TestWhatHangsOnAnUnfinishedItemIsNotKept(t *testing.T) {
	t.Parallel()
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{
		Namespace: "news", Name: "a", UID: "a", Labels: map[string]string{"team": "web"}, Finalizers: []string{"example.com/keep"},
		OwnerReferences: []metav1.OwnerReference{{Name: "blog"}},
		Annotations: map[string]string{
			"example.com/note": "long", v1alpha1.AnnotationFolder: "News", v1alpha1.AnnotationRestoredFrom: "backup", v1alpha1.AnnotationRetry: "1",
		},
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

// R3.13: an annotation that says something to the operator is as long as whoever may annotate the object wants. What is kept of it is no longer than what
// it may say, and a token is still another one than others.
func TestNoAnnotationIsKeptThatIsLongerThanWhatItMaySay(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 250<<10)
	for _, name := range []string{
		v1alpha1.AnnotationRetry, v1alpha1.AnnotationPoll, v1alpha1.AnnotationTitle, v1alpha1.AnnotationFolder, v1alpha1.AnnotationOriginalUID,
		v1alpha1.AnnotationOriginalCreation, v1alpha1.AnnotationRestoredFrom, v1alpha1.AnnotationRestoring, v1alpha1.AnnotationSuspendedForBackup,
		"example.com/note",
	} {
		source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{name: long}}}
		if _, err := itemcache.Bare(source); err != nil {
			t.Fatal(err)
		}
		kept, token := source.Annotations[name], name == v1alpha1.AnnotationRetry || name == v1alpha1.AnnotationPoll
		if token && kept != lifecycle.TokenOf(long) || !token && kept != "" {
			t.Errorf("%s: %d bytes are kept", name, len(kept))
		}
	}
}

// R3.13: nor is it held of what is read from the API server, while an item is worked on or sent with others.
func TestWhatIsReadFromTheAPIServerIsBareToo(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hung := metav1.ObjectMeta{
		Namespace: "news", Name: "a", Labels: map[string]string{"team": "web"}, Finalizers: []string{"example.com/keep"},
		Annotations:     map[string]string{"example.com/note": "long", v1alpha1.AnnotationRetry: "1"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "owner"}},
	}
	item := &v1alpha1.FeedItem{ObjectMeta: hung}
	item.Spec.Content = "What is needed for a summary."
	objects := []client.Object{item, &v1alpha1.FeedSource{ObjectMeta: hung}, &v1alpha1.AIProvider{ObjectMeta: hung}, &v1alpha1.FeedDestination{ObjectMeta: hung}}
	live := itemcache.LiveReader{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
	want := metav1.ObjectMeta{Namespace: "news", Name: "a", ResourceVersion: "999", Annotations: map[string]string{v1alpha1.AnnotationRetry: "1"}}
	isBare := func(object client.Object, got metav1.ObjectMeta) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T: held of the metadata (-want +got)\n%s", object, diff)
		}
	}
	for _, object := range []client.Object{&v1alpha1.FeedItem{}, &v1alpha1.FeedSource{}, &v1alpha1.AIProvider{}, &v1alpha1.FeedDestination{}} {
		if err := live.Get(t.Context(), client.ObjectKeyFromObject(item), object); err != nil {
			t.Fatal(err)
		}
		isBare(object, metav1.ObjectMeta{
			Namespace: object.GetNamespace(), Name: object.GetName(), ResourceVersion: object.GetResourceVersion(), Labels: object.GetLabels(),
			Finalizers: object.GetFinalizers(), Annotations: object.GetAnnotations(), OwnerReferences: object.GetOwnerReferences(),
			ManagedFields: object.GetManagedFields(),
		})
		if read := itemcache.AsItem(object); read != nil && read.Spec.Content != item.Spec.Content {
			t.Errorf("the content is %q", read.Spec.Content)
		}
	}
	var list v1alpha1.FeedItemList
	if err := live.List(t.Context(), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d items: %v", len(list.Items), err)
	}
	isBare(item, list.Items[0].ObjectMeta)
}
