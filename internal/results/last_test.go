// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// R2.8, R3.13: the operator stops while the API server does not answer for one namespace, of which results are kept. Those of another one are written all the same: they were paid for,
// and nobody else knows them.
func TestWhatIsKeptIsWrittenLastThoughAnotherNamespaceHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		item := func(namespace, name string) *v1alpha1.FeedItem {
			return &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
		}
		fine := item("neighbour", "fine")
		r, result := newResults(fine), &known{}
		r.Live = interceptor.NewClient(fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(fine).Build(), interceptor.Funcs{
			Get: func(ctx context.Context, of client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
				if key.Namespace == "stuck" {
					<-ctx.Done()
					return ctx.Err()
				}
				return of.Get(ctx, key, into, options...)
			},
		})
		r.Kept.keep(fine, result)
		for i := range 40 {
			r.Kept.keep(item("stuck", fmt.Sprint("item-", i)), &known{})
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		r.WriteLast(stopped)
		if result.written != 1 {
			t.Errorf("the result of the other namespace was written %d times", result.written)
		}
	})
}
