// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apibare"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// R3.13: what a tenant hangs onto its objects costs no memory, and no time whenever one is read from the cache: each item that waits reads its source, providers and
// destinations, everybody waits for that after a start, and the API server takes 100,000 labels of one object.
func TestWhatHangsOnAnObjectIsNotRead(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	hung := metav1.ObjectMeta{
		Namespace: namespace, Name: "press", Labels: map[string]string{"team": "web"},
		Annotations:     map[string]string{"example.com/note": "long", v1alpha1.AnnotationRetry: "1"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "all", UID: "unknown"}},
	}
	source := &v1alpha1.FeedSource{ObjectMeta: hung}
	source.Spec.URL = "https://example.com/feed.xml"
	provider := &v1alpha1.AIProvider{ObjectMeta: hung}
	provider.Spec.Extractive = &v1alpha1.ExtractiveProvider{}
	destination := &v1alpha1.FeedDestination{ObjectMeta: hung}
	destination.Spec.Webhook = &v1alpha1.WebhookDestination{URL: "https://example.com/hook"}

	kinds := newCache(t, namespace)
	for _, object := range []client.Object{source, provider, destination} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if _, err := kinds.GetInformer(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		apitest.Eventually(t, func(ctx context.Context) error {
			return kinds.Get(ctx, client.ObjectKeyFromObject(object), object)
		})
		if object.GetLabels() != nil || object.GetOwnerReferences() != nil || object.GetManagedFields() != nil {
			t.Errorf("%T is read with labels %v, owners %v, managed fields %v", object, object.GetLabels(), object.GetOwnerReferences(), object.GetManagedFields())
		}
		if diff := cmp.Diff(map[string]string{v1alpha1.AnnotationRetry: "1"}, object.GetAnnotations()); diff != "" {
			t.Errorf("annotations of a %T (-want +got)\n%s", object, diff)
		}
	}
}

// R3.13: the API server takes managed fields that are deeper than it lets anybody read in a list or a watch. An object with such ends neither, for others: they
// are one for all.
func TestAnObjectThatIsTooDeepStopsNobodysCache(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	provider := func(name string) *v1alpha1.AIProvider {
		made := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		made.Spec.Extractive = &v1alpha1.ExtractiveProvider{}
		return made
	}
	const levels = 9995 // the API server takes no more
	deep := provider("deep")
	deep.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "tenant", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1alpha1.GroupVersion.String(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(strings.Repeat(`{"f:a":`, levels) + "{}" + strings.Repeat("}", levels)),
	}}
	cached := func() cache.Cache {
		kinds := newCache(t, namespace)
		if _, err := kinds.GetInformer(t.Context(), deep, cache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
		return kinds
	}
	sees := func(kinds cache.Cache, name string) {
		t.Helper()
		apitest.Eventually(t, func(ctx context.Context) error {
			return kinds.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v1alpha1.AIProvider{})
		})
	}
	watching := cached()
	for _, object := range []*v1alpha1.AIProvider{provider("before"), deep, provider("after")} {
		if err := server.Client.Create(t.Context(), object.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		sees(watching, object.Name)
	}
	sees(cached(), "after") // also after a start
}

// newCache starts what the operator keeps of a namespace.
func newCache(t *testing.T, namespace string) cache.Cache {
	t.Helper()
	options := controllers.CacheOptions(namespace)
	options.Scheme = apitest.Scheme()
	reaching := rest.CopyConfig(server.Config)
	reaching.Wrap(apibare.WrapTransport)
	kinds, err := cache.New(reaching, options)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = kinds.Start(t.Context()) }()
	return kinds
}
