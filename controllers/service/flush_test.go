// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// R6.3, R3.9, R3.13: the operator stops while the API server does not answer for one namespace, of which many services have counters to be written. It waits for that once,
// and not once for each: nobody takes over before it has ended. Those of another namespace are written.
func TestAStopWaitsOnceForANamespaceThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	const many, longest = 40, 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		described := func(namespace, name string) *v1alpha1.FeedDestination {
			return &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		}
		all := []client.Object{described("neighbour", "press")}
		for i := range many {
			all = append(all, described("stuck", fmt.Sprint("press-", i)))
		}
		objects := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(all...).WithStatusSubresource(all...).Build()
		api := interceptor.NewClient(objects, interceptor.Funcs{
			Get: func(ctx context.Context, of client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
				if key.Namespace == "stuck" {
					<-ctx.Done()
					return ctx.Err()
				}
				return of.Get(ctx, key, into, options...)
			},
		})
		known := services.New(clock.RealClock{}, schedule.New(clock.RealClock{}, func(string) {}, nil), func(schedule.Resource, bool) {})
		for _, of := range all {
			id := schedule.Destination(client.ObjectKeyFromObject(of))
			known.Posted(id, false)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		last := &FinalCounters{Services: known, Destinations: NewFeedDestinations(Tools{Clock: clock.RealClock{}, Client: api, Live: api, Services: known}, nil)}
		if err := last.Start(stopped); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > longest {
			t.Errorf("the stop has waited for %s", took)
		}
		var found v1alpha1.FeedDestination
		if err := objects.Get(t.Context(), client.ObjectKeyFromObject(all[0]), &found); err != nil || found.Status.Delivered != 1 {
			t.Errorf("%d posts of the other namespace are counted (%v)", found.Status.Delivered, err)
		}
	})
}
