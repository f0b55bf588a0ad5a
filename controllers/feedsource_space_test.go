// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers/feedsource"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// itemQuota is a ResourceQuota for so many items in a world's namespace. What the quota controller of a cluster does, the
// test does: it says what is used.
func (w *world) itemQuota(most int64) (settle func(used, most int64)) {
	w.t.Helper()
	const counted = corev1.ResourceName("count/feeditems.feeds.feed-operator.io")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "items"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counted: *resource.NewQuantity(most, resource.DecimalSI)}},
	}
	if err := w.client.Create(w.t.Context(), quota); err != nil {
		w.t.Fatal(err)
	}
	settle = func(used, most int64) {
		w.t.Helper()
		apitest.Eventually(w.t, func(ctx context.Context) error {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
				return err
			}
			quota.Spec.Hard = corev1.ResourceList{counted: *resource.NewQuantity(most, resource.DecimalSI)}
			if err := w.client.Update(ctx, quota); err != nil {
				return err
			}
			quota.Status.Hard = quota.Spec.Hard
			quota.Status.Used = corev1.ResourceList{counted: *resource.NewQuantity(used, resource.DecimalSI)}
			return w.client.Status().Update(ctx, quota)
		})
	}
	settle(0, most)
	w.untilQuotaHolds()
	return settle
}

// untilQuotaHolds waits until the API server knows of the quota: it reads quotas through a cache.
func (w *world) untilQuotaHolds() {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		probe := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}}
		probe.Spec.SourceRef = v1alpha1.SourceReference{Name: "none", UID: "none"}
		if err := w.client.Create(ctx, probe); err != nil {
			return err
		}
		var quota corev1.ResourceQuota
		if err := errors.Join(w.client.Delete(ctx, probe), w.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "items"}, &quota)); err != nil {
			return err
		}
		for _, used := range quota.Status.Used {
			if used.Value() > 0 {
				return nil
			}
		}
		return errNotYet
	})
}

// R1.10: a ResourceQuota that is used up is said on the source, with what to do; what it admits is created and
// remembered, the feed is not asked more often than before, and when there is room the others come by themselves.
func TestAQuotaThatIsUsedUpIsSaidAndLosesNothing(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	settle := w.itemQuota(3)
	settle(0, 3)
	web.List(web.Entries("much", 7)...)
	w.source("news", web.FeedURL())
	w.untilSource("news", saysOf(v1alpha1.ReasonQuotaExceeded, "ResourceQuota", "4 entries wait", "exceeded quota: items", "Raise the quota", "spec.retention"))
	if diff := cmp.Diff(newsAbout("much", 1, 2, 3), titles(w.untilItems("news", allProcessed(3)))); diff != "" {
		t.Errorf("the oldest go first: %s", diff)
	}

	polls := web.Hits("/feed.xml")
	w.clock.Step(14 * time.Minute) // what is merely busy is asked again after half a minute
	w.lookAtSource("news")
	if more := web.Hits("/feed.xml") - polls; more != 0 {
		t.Errorf("%d polls before the interval was over", more)
	}
	for i, interval := range []time.Duration{2 * time.Minute, 30 * time.Minute, time.Hour, time.Hour} {
		w.clock.Step(interval)
		w.untilAskedFor(web, polls+i+1)
	}
	w.clock.Step(50 * time.Minute)
	w.lookAtSource("news")
	if more := web.Hits("/feed.xml") - polls; more != 4 {
		t.Errorf("%d polls in three hours and a half", more)
	}

	settle(3, 100)
	w.clock.Step(15 * time.Minute)
	w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
	w.untilItems("news", allProcessed(7))
	w.deleteItems("news")
	w.poll("news")
	w.untilItems("news", hasItems(0)) // all of them are remembered
}

// R1.10: a quota that leaves no room for what is remembered is said as that, and nothing is lost or made twice meanwhile.
func TestAQuotaThatLeavesNoRoomForTheMemoryIsSaid(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/feedmemories") {
			return nil
		}
		return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: `feedmemories.feeds.feed-operator.io "news" is forbidden: exceeded quota: small, requested: count/feedmemories.feeds.feed-operator.io=1`}
	})
	web.List(web.Entries("much", 2)...)
	w.source("news", web.FeedURL())
	w.untilSource("news", saysOf(v1alpha1.ReasonQuotaExceeded, "no room for the FeedMemory", "Raise the quota of feedmemories", "exceeded quota: small"))
	w.faults.on(nil)
	w.clock.Step(30 * time.Minute)
	w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
	w.untilItems("news", allProcessed(2))
}

// R1.10: a database that is full, or was when the entries came, is said on the source as soon as that can be written; and
// is not asked sooner than the feed is polled anyway.
func TestAFullDatabaseIsSaid(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("much", 3)...)
	w := newWorld(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/feeditems") {
			return nil
		}
		return &metav1.Status{Code: http.StatusInternalServerError, Message: "etcdserver: mvcc: database space exceeded"}
	})
	w.source("news", web.FeedURL())
	w.untilSource("news", saysOf(v1alpha1.ReasonStorageFull, "database of the cluster (etcd) is full", "3 entries wait", "is tried next at"))
	polls := web.Hits("/feed.xml")
	w.clock.Step(14 * time.Minute) // what is merely busy is asked again after half a minute
	w.lookAtSource("news")
	if more := web.Hits("/feed.xml") - polls; more != 0 {
		t.Errorf("%d polls before the interval was over", more)
	}
	w.faults.on(nil)
	w.clock.Step(2 * time.Minute)
	w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
	w.untilItems("news", allProcessed(3))
}

// R1.10: while the cluster's database is full nothing can be written, not even that. The operator goes on, asks seldom, and
// when there is room everything comes that the feed lists, each entry once. The API server and its etcd are real.
func TestAFullDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	database, small := smallCluster(t)
	web := feedtest.New(t)
	web.List(web.Entries("first", 2)...)
	w := newWorld(t, func(w *world) { w.api, w.client = small, small.Client; w.namespace = small.Namespace(t) })
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(2))
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 2}))

	database.fillUp()
	probe := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}}
	probe.Spec.SourceRef = v1alpha1.SourceReference{Name: "none", UID: "none"}
	err := small.Client.Create(t.Context(), probe)
	if feedsource.RefusedForSpace(err) != v1alpha1.ReasonStorageFull {
		t.Fatalf("the API server answers %#v", err)
	}
	var writes atomic.Int64
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "feeds.feed-operator.io") {
			writes.Add(1)
		}
		return nil
	})
	web.List(web.Entries("first", 9)...)
	polls := web.Hits("/feed.xml")
	for i, interval := range []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour, time.Hour} {
		w.clock.Step(interval)
		w.untilAskedFor(web, polls+i+1)
	}
	if n := writes.Load(); n > 60 { // four polls, each with an item, and ten tries to say what is wrong
		t.Errorf("%d writes were tried in three hours in which nothing could be written", n)
	}
	w.faults.on(nil)
	items, err := w.items(t.Context(), "news")
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items while nothing can be written: %v", len(items), err)
	}

	database.makeRoom()
	w.clock.Step(time.Hour)
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 9}))
	w.untilItems("news", allProcessed(9))
}
