// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R3.13: the operator holds nothing of what people hang onto their items, and drops nothing of it from them: neither while it tries an item again, nor when
// it posts it. A token is as long as somebody makes it, and still asks for one retry.
func TestWhatPeopleHangOntoAnItemStays(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	mend := failing(web)
	w := newWorld(t)
	server := w.webhook()
	w.webhookTo("ops", server.URL)
	w.source("news", web.FeedURL(), postsTo("ops"))
	w.awaitItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
	mend()
	item := w.untilItems("news", hasItems(1))[0]
	before := item.DeepCopy()
	item.Labels = map[string]string{v1alpha1.LabelSource: "news", "team": "web"}
	item.Annotations = map[string]string{
		"example.com/note": "long", v1alpha1.AnnotationFolder: strings.Repeat("x", 100<<10), v1alpha1.AnnotationRetry: strings.Repeat("y", 100<<10),
	}
	if err := w.client.Patch(t.Context(), &item, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	hung := metav1.ObjectMeta{Labels: item.Labels, Annotations: item.Annotations, OwnerReferences: item.OwnerReferences}
	now := w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if !maps.Equal(now.Labels, hung.Labels) || !maps.Equal(now.Annotations, hung.Annotations) || len(hung.OwnerReferences) != 1 ||
		now.OwnerReferences[0].UID != hung.OwnerReferences[0].UID {
		t.Errorf("labels %v, owners %v, annotations %v", now.Labels, now.OwnerReferences, slices.Sorted(maps.Keys(now.Annotations)))
	}
	if now.Status.LastHandledRetry == "" || len(server.Taken()) != 1 {
		t.Errorf("handled %q, %d requests", now.Status.LastHandledRetry, len(server.Taken()))
	}
}
