// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R1.10: what a feed calls itself is kept until the cache has it, and no longer than its source; a source that
// was made again under the same name is another one.
func TestNamesOfFeedsAreForgottenWithTheirSources(t *testing.T) {
	t.Parallel()
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "press", UID: "1"}}
	cached := source.DeepCopy()
	cached.Status.Title, cached.DeletionTimestamp = "The Press", &metav1.Time{Time: time.Unix(1, 0)} // so that no more is done
	for name, cache := range map[string]onlySource{"gone": {}, "in the cache with its name": {source: cached}} {
		names := &itemcache.FeedNames{}
		names.Learn(source, "The Press")
		if got := names.Of(source); got != "The Press" {
			t.Errorf("it is called %q", got)
		}
		again := source.DeepCopy()
		again.UID = "2"
		if got := names.Of(again); got != "" {
			t.Errorf("another source is called %q", got)
		}
		names.Learn(again, "Another")
		reconciler := &Reconciler{Client: cache, Names: names, Schedule: schedule.New(clocktesting.NewFakeClock(time.Unix(1, 0)), func(string) {}, nil)}
		if _, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(source)}); err != nil {
			t.Fatal(err)
		}
		names.Known.Range(func(key, _ any) bool {
			t.Errorf("%s: the name of %v is kept", name, key)
			return true
		})
	}
}

// onlySource is a cache that has a source, or none.
type onlySource struct {
	client.Client
	source *v1alpha1.FeedSource
}

func (c onlySource) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c.source == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "feedsources"}, key.Name)
	}
	c.source.DeepCopyInto(into.(*v1alpha1.FeedSource)) //nolint:forcetypeassert // nothing else is asked for
	return nil
}
