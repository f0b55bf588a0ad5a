// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// grown makes a source "news" that has seen so many entries that there is an archive of its memory once it lists few of them. None
// has become an item.
func (w *world) grown(web *feedtest.Server) (old []feedtest.Entry) {
	w.t.Helper()
	old = web.Entries("old", 2_100)
	web.List(old...)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.InitialItems = new(int32(0)) })
	w.untilRemembered(1)
	return old
}

// memories returns the memory of the only source, and its archive.
func (w *world) memories() (latest, archive *v1alpha1.FeedMemory) {
	w.t.Helper()
	var list v1alpha1.FeedMemoryList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].Data.URLHash != "" {
			latest = &list.Items[i]
		} else {
			archive = &list.Items[i]
		}
	}
	if latest == nil || archive != nil && latest.Data.Archive != archive.Name {
		w.t.Fatalf("%d memories", len(list.Items))
	}
	return latest, archive
}

func bytesOf(t *testing.T, object client.Object) int {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// R1.2, R2.10: of a source that has seen much, little is written for each news; and nothing that it has seen comes again, after restarts
// too.
func TestAGrownMemoryIsWrittenInParts(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	created := w.creations()
	old := w.grown(web)
	listed := append(web.Entries("first", 1), old[:10]...)
	web.List(listed...)
	w.poll("news") // which makes the archive
	var archives atomic.Int32
	_, archive := w.memories()
	if archive == nil {
		t.Fatal("there is no archive")
	}
	if owners := archive.OwnerReferences; len(owners) != 1 || owners[0].Kind != "FeedSource" || archive.Labels[v1alpha1.LabelSource] != "news" {
		t.Errorf("the archive is owned by %+v, labels %v", owners, archive.Labels)
	}
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+archive.Name) {
			archives.Add(1)
		}
		return nil
	})
	for _, name := range []string{"second", "third", "fourth"} {
		listed = append(web.Entries(name, 1), listed...)
		web.List(listed...)
		w.poll("news")
	}
	latest, whole := w.memories()
	if small, all := bytesOf(t, latest), bytesOf(t, whole); archives.Load() != 0 || small > 3_000 || all < 40_000 {
		t.Errorf("%d bytes are written for each news, beside %d that are; the archive was written %d times more", small, all, archives.Load())
	}
	w.restart()
	web.List(append(web.Entries("fifth", 1), slices.Concat(listed, old)...)...)
	w.poll("news")
	want := []string{"News about fifth-1", "News about first-1", "News about fourth-1", "News about second-1", "News about third-1"}
	if diff := cmp.Diff(want, created()); diff != "" {
		t.Errorf("created: %s", diff)
	}
}

// R1.2: the poll that makes the archive is cut off before the memory says that there is one. It is made again, and nothing is lost.
func TestAnArchiveThatNothingRefersToIsTakenOver(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	created := w.creations()
	old := w.grown(web)
	var refused atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/feedmemories/") && refused.CompareAndSwap(0, 1) {
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
		}
		return nil
	})
	web.List(append(web.Entries("first", 1), old[:10]...)...)
	w.annotate(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, v1alpha1.AnnotationPoll, "now")
	await(t, func() error {
		if refused.Load() == 0 {
			return errNotYet
		}
		return nil
	})
	w.crash()
	w.poll("news")
	if _, archive := w.memories(); archive == nil || refused.Load() != 1 {
		t.Errorf("archive %v, %d writes refused", archive, refused.Load())
	}
	web.List(append(web.Entries("second", 1), old...)...)
	w.poll("news")
	if diff := cmp.Diff([]string{"News about first-1", "News about second-1"}, created()); diff != "" {
		t.Errorf("created: %s", diff)
	}
}

// R1.2: somebody deletes the archive. Nothing is published twice, the source says what happened, and then it goes on.
func TestALostArchiveMarksEverythingAsSeen(t *testing.T) {
	t.Parallel()
	for name, listed := range map[string]int{"the feed lists what it did": 5, "the feed lists what was in the archive": 2_100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			w := newWorld(t)
			created := w.creations()
			old := w.grown(web)
			web.List(append(web.Entries("first", 1), old[:10]...)...)
			w.poll("news")
			_, archive := w.memories()
			if err := w.client.Delete(t.Context(), archive); err != nil {
				t.Fatal(err)
			}
			w.restart()
			web.List(old[:listed]...)
			source := w.poll("news")
			if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionMemoryRebuilt) {
				t.Errorf("conditions %+v", source.Status.Conditions)
			}
			web.List(append(web.Entries("second", 1), old[:listed]...)...)
			source = w.poll("news")
			if meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionMemoryRebuilt) {
				t.Error("it is still said")
			}
			if diff := cmp.Diff([]string{"News about first-1", "News about second-1"}, created()); diff != "" {
				t.Errorf("created: %s", diff)
			}
		})
	}
}
