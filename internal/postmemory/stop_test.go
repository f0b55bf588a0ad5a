// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/postmemory"
)

// R6.3, R4.4, R3.13: the operator stops while the API server does not take what is written in one namespace, with many destinations of which posts are to be
// written. It waits for that once, and not once for each: nobody takes over before it has ended. Those of another namespace are written.
func TestAStopWaitsOnceForANamespaceThatTakesNoPosts(t *testing.T) {
	t.Parallel()
	const many, longest = 40, 10 * time.Second
	scheme := apitest.Scheme()
	synctest.Test(t, func(t *testing.T) {
		objects := indexed(t, scheme).Build()
		api := interceptor.NewClient(objects, interceptor.Funcs{
			Create: func(ctx context.Context, of client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if object.GetNamespace() == "stuck" {
					<-ctx.Done()
					return ctx.Err()
				}
				return of.Create(ctx, object, options...)
			},
		})
		known := postmemory.NewMemories(clock.RealClock{}, api, postmemory.MostPosts)
		known.Synced = func(context.Context) bool { return true }
		places := []types.NamespacedName{{Namespace: "neighbour", Name: "press"}}
		for i := range many {
			places = append(places, types.NamespacedName{Namespace: "stuck", Name: fmt.Sprint("press-", i)})
		}
		for _, place := range places {
			memory, err := known.At(t.Context(), postmemory.Target{Destination: place})
			if err != nil {
				t.Fatal(err)
			}
			entry := feed.Entry{GUID: "1", Title: "One"}
			memory.Remember(t.Context(), "one", posted.Of("https://news.example", feed.Identify(entry), feed.Trust{}), "https://social.example/1")
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		if err := known.Start(stopped); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > longest {
			t.Errorf("the stop has waited for %s", took)
		}
		var written v1alpha1.FeedMemoryList
		if err := objects.List(t.Context(), &written, client.InNamespace("neighbour")); err != nil || len(written.Items) != 1 {
			t.Errorf("%d memories of the other namespace are written (%v)", len(written.Items), err)
		}
	})
}
