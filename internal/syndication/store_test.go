// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

var launch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// store keeps objects as an API server would, with a list that may lag behind.
type store struct {
	mu      sync.Mutex
	sources []*v1alpha1.FeedSource
	items   []*v1alpha1.FeedItem
	// listed is what the cache knows; the items themselves when it is nil.
	listed []Ref
	// broken makes every call fail with it.
	broken error
	// reads counts the live reads of items.
	reads int
	// limits are those that were asked for.
	limits []int
}

func (s *store) Source(_ context.Context, namespace, name string) (*v1alpha1.FeedSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return nil, s.broken
	}
	for _, source := range s.sources {
		if source.Namespace == namespace && source.Name == name {
			return source.DeepCopy(), nil
		}
	}
	return nil, notFound("feedsources", name)
}

func (s *store) Newest(_ context.Context, namespace, source string, uid types.UID, limit int) ([]Ref, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = append(s.limits, limit)
	if s.listed != nil {
		return slices.Clone(s.listed), nil
	}
	var refs []Ref
	for _, item := range s.items {
		from := item.Spec.SourceRef
		if item.Namespace == namespace && from.Name == source && from.UID == uid && item.Status.Summary != nil {
			refs = append(refs, RefOf(item))
		}
	}
	slices.SortFunc(refs, NewestFirst)
	return refs[:min(len(refs), limit)], nil
}

func (s *store) Item(_ context.Context, ref Ref) (*v1alpha1.FeedItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	for _, item := range s.items {
		if item.Namespace == ref.Namespace && item.Name == ref.Name {
			return item.DeepCopy(), nil
		}
	}
	return nil, notFound("feeditems", ref.Name)
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: resource}, name)
}

// uid makes a UID such as the API server would give.
func uid(kind, n int) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, n))
}

func newSource() *v1alpha1.FeedSource {
	return &v1alpha1.FeedSource{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "news", Name: "example.blog", UID: uid(1, 1), ResourceVersion: "7",
			CreationTimestamp: metav1.NewTime(launch),
		},
		Spec:   v1alpha1.FeedSourceSpec{URL: "https://blog.example.org/private/feed?token=s3cr3t", Publish: new(true)},
		Status: v1alpha1.FeedSourceStatus{Title: "Example Blog"},
	}
}

// newItem makes the n-th item of the source: published n hours after launch, finished a minute later.
func newItem(n int) *v1alpha1.FeedItem {
	published := metav1.NewTime(launch.Add(time.Duration(n) * time.Hour))
	finished := metav1.NewTime(published.Add(time.Minute))
	return &v1alpha1.FeedItem{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "news", Name: fmt.Sprintf("example-%04d", n), UID: uid(2, n), ResourceVersion: "100",
			CreationTimestamp: finished,
		},
		Spec: v1alpha1.FeedItemSpec{
			SourceRef:     v1alpha1.SourceReference{Name: "example.blog", UID: uid(1, 1)},
			Title:         fmt.Sprintf("Title %d", n),
			URL:           fmt.Sprintf("https://blog.example.org/articles/%d?page=1&view=all", n),
			Author:        "Ada Lovelace",
			Categories:    []string{"Computing", "History", "Computing"},
			PublishedTime: &published,
		},
		Status: v1alpha1.FeedItemStatus{
			Phase:         v1alpha1.PhaseProcessed,
			LastCheckTime: &finished,
			Summary:       &v1alpha1.Summary{Text: fmt.Sprintf("Summary %d.", n), Provider: "extractive (built in)"},
		},
	}
}

// newStore holds one source with so many items.
func newStore(items int) *store {
	s := &store{sources: []*v1alpha1.FeedSource{newSource()}}
	for n := range items {
		s.items = append(s.items, newItem(n))
	}
	return s
}
