// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
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

	options := controllers.CacheOptions(namespace)
	options.Scheme = apitest.Scheme()
	reaching := rest.CopyConfig(server.Config)
	reaching.Wrap(apibare.WrapTransport)
	kinds, err := cache.New(reaching, options)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = kinds.Start(t.Context()) }()
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
