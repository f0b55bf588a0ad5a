// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"context"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxReads is how many items are read from the API server at the same time, by all requests
// together: feeds are served by the way and must leave room for the operator's own work.
const maxReads = 4

// entryReader reads entries, each version of an item once as long as there is room to remember it.
type entryReader struct {
	reader  Reader
	cache   *entryCache
	flights singleflight.Group
	slots   chan struct{}
}

func newEntryReader(reader Reader, maxBytes int) *entryReader {
	return &entryReader{reader: reader, cache: newEntryCache(maxBytes), slots: make(chan struct{}, maxReads)}
}

// read returns the entries in the order of refs, and the references of what was really read. Items
// that have vanished since they were listed are left out of both.
func (r *entryReader) read(ctx context.Context, refs []Ref) ([]*entry, []Ref, error) {
	entries := make([]*entry, 0, len(refs))
	actual := make([]Ref, 0, len(refs))
	for _, ref := range refs {
		e, err := r.one(ctx, ref)
		if err != nil {
			return nil, nil, err
		}
		if e != nil {
			entries = append(entries, e)
			actual = append(actual, e.ref)
		}
	}
	return entries, actual, nil
}

// one returns the entry of an item, or nil when there is none any more.
func (r *entryReader) one(ctx context.Context, ref Ref) (*entry, error) {
	version := versionOf(ref)
	if e := r.cache.get(version); e != nil {
		return e, nil
	}
	result := r.flights.DoChan(string(version.uid)+"/"+version.resourceVersion, func() (any, error) {
		// Others may wait for the same item: that one client hangs up must not fail them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return r.fetch(ctx, ref)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case read := <-result:
		e, _ := read.Val.(*entry)
		return e, read.Err
	}
}

func (r *entryReader) fetch(ctx context.Context, ref Ref) (*entry, error) {
	if e := r.cache.get(versionOf(ref)); e != nil {
		return e, nil // another request has read it between our look into the cache and now
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	item, err := r.reader.Item(ctx, ref)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if item.UID != ref.UID {
		return nil, nil // another item of the same name; it comes with the next list
	}
	e := newEntry(item)
	if e != nil {
		r.cache.put(e)
	}
	return e, nil
}
