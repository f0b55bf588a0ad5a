// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/syndication"
)

// FeedReader gives published feeds what they are made of: which items there are from the cache,
// and their texts, which the cache does not hold, from the API server.
type FeedReader struct {
	Cached client.Reader
	Live   client.Reader
}

// Source implements syndication.Reader.
func (r FeedReader) Source(ctx context.Context, namespace, name string) (*v1alpha1.FeedSource, error) {
	var source v1alpha1.FeedSource
	return &source, r.Cached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &source)
}

// Newest implements syndication.Reader.
func (r FeedReader) Newest(ctx context.Context, namespace, name string, uid types.UID, limit int) ([]syndication.Ref, error) {
	source := &v1alpha1.FeedSource{}
	source.Namespace, source.Name, source.UID = namespace, name, uid
	items, err := itemcache.OfSource(ctx, r.Cached, source)
	if err != nil {
		return nil, err
	}
	var refs []syndication.Ref
	for i := range items {
		if items[i].Status.Summary != nil { // also while a delivery is outstanding, or has failed
			refs = append(refs, syndication.RefOf(&items[i]))
		}
	}
	slices.SortFunc(refs, syndication.NewestFirst)
	return refs[:min(len(refs), limit)], nil
}

// Item implements syndication.Reader.
func (r FeedReader) Item(ctx context.Context, ref syndication.Ref) (*v1alpha1.FeedItem, error) {
	var item v1alpha1.FeedItem
	return &item, r.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &item)
}
