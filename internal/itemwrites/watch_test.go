// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemwrites_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R3.13: the API server answers a write with all that hangs on an item. It is not held, and it stays on the item.
func TestWhatTheAnswerToAWriteBringsWithItIsNotHeld(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name, item.Labels = "news", "a", map[string]string{"team": "web"}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(item).WithStatusSubresource(item).Build()
	through := itemwrites.Watch(server, &itemwrites.Writes{Clock: clock.RealClock{}, Schedule: &schedule.Schedule{}})
	before := &v1alpha1.FeedItem{}
	before.Namespace, before.Name = "news", "a"
	written := before.DeepCopy()
	written.Status.Phase = v1alpha1.PhasePending
	if err := through.Status().Patch(t.Context(), written, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if len(written.Labels) != 0 || written.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("held: %+v", written)
	}
	there := &v1alpha1.FeedItem{}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(item), there); err != nil || there.Labels["team"] != "web" {
		t.Errorf("there: %+v, error: %v", there.Labels, err)
	}
}
