// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// R3.7: a retry of all that has failed reaches what had failed just before, though the cache hears of that only after the request; and what fails
// after it waits, as it would without.
func TestARetryReachesWhatTheCacheHearsOfLater(t *testing.T) {
	t.Parallel()
	noon := metav1.NewTime(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	requested := metav1.NewMicroTime(noon.Add(time.Second))
	after := metav1.NewTime(noon.Add(2 * time.Second))
	summary := func(failed metav1.Time) v1alpha1.FeedItemStatus {
		return v1alpha1.FeedItemStatus{
			Phase: v1alpha1.PhaseDeferred, LastFailureTime: &failed,
			ProviderFailures: []v1alpha1.ProviderFailure{{Name: "writer", Category: v1alpha1.CategoryAPI, Count: 1, Time: failed}},
		}
	}
	delivery := func(failed metav1.Time) v1alpha1.FeedItemStatus {
		return v1alpha1.FeedItemStatus{
			Phase: v1alpha1.PhasePending, Summary: &v1alpha1.Summary{Text: "S"},
			Deliveries: []v1alpha1.Delivery{{Destination: "press", State: v1alpha1.DeliveryQueued, Failure: &v1alpha1.Failure{Time: failed}}},
		}
	}
	givenUp := func(refused metav1.Time) v1alpha1.FeedItemStatus {
		status := summary(refused)
		status.Phase, status.Reason, status.ProviderFailures[0].Category = v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed, v1alpha1.CategoryAuth
		status.ProviderFailures[0].Name = "mended"
		return status
	}
	for name, test := range map[string]struct {
		status v1alpha1.FeedItemStatus
		want   int
	}{
		"its summary had failed":               {summary(noon), 1},
		"its delivery had failed":              {delivery(noon), 1},
		"its summary has failed since":         {summary(after), 0},
		"its delivery has failed since":        {delivery(after), 0},
		"a refused key was replaced since":     {givenUp(noon), 1},
		"its key is refused since":             {givenUp(after), 0},
		"it has not failed":                    {v1alpha1.FeedItemStatus{Phase: v1alpha1.PhaseUnprocessed}, 0},
		"it has failed elsewhere, at its page": {v1alpha1.FeedItemStatus{Phase: v1alpha1.PhaseDeferred, LastFailureTime: &noon}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "writer"}}
			provider.Status.RetryRequestedTime = &requested
			mended := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "mended"}}
			mended.Status.CredentialsRestoredTime = &requested
			destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "press"}}
			destination.Status.RetryRequestedTime = &requested
			r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(provider, mended, destination).Build()}
			item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "item"}, Status: test.status}

			line := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer line.ShutDown()
			r.itemsFailedBefore().Update(t.Context(), event.UpdateEvent{ObjectOld: &v1alpha1.FeedItem{}, ObjectNew: item}, line)
			if got := line.Len(); got != test.want {
				t.Errorf("%d items are looked at, want %d", got, test.want)
			}
		})
	}
}
