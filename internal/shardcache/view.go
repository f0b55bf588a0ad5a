// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shardcache shows the controllers of a shard the namespaces of their shard, and nothing else: a view of the one cache that the
// process has, and of what is read from the API server. This is the only gate. Whoever lists or hears through it needs not know that there are
// shards.
//
// A single object that is asked for by its name is handed out whatever its namespace. Objects refer to others of their own namespace only, so
// nobody comes by the name of another shard's.
//
// It must never know which shards there are, and who holds them.
package shardcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owns reports whether a namespace belongs to those that are shown.
type Owns func(namespace string) bool

// Shared is a cache of which several views are shown, one after the other or at the same time.
type Shared struct {
	cache.Cache

	mu      sync.Mutex
	indexed map[string]bool
}

// IndexField implements client.FieldIndexer: an index is made once, however many ask for it.
func (s *Shared) IndexField(ctx context.Context, object client.Object, field string, keys client.IndexerFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	index := fmt.Sprintf("%T/%s", object, field)
	if s.indexed[index] {
		return nil
	}
	if err := s.Cache.IndexField(ctx, object, field, keys); err != nil {
		return err
	}
	if s.indexed == nil {
		s.indexed = map[string]bool{}
	}
	s.indexed[index] = true
	return nil
}

// View is the part of a cache that belongs to some namespaces. It lives as long as the controllers that it is for: who starts it ends it,
// and the cache goes on.
type View struct {
	*Shared

	owns Owns
	mu   sync.Mutex
	// leave removes what hears of the cache by this view.
	leave []func() error
	ended bool
}

// NewView shows some namespaces of a cache.
func NewView(shared *Shared, owns Owns) *View { return &View{Shared: shared, owns: owns} }

// List implements client.Reader.
func (v *View) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return listOwned(ctx, v.Cache, v.owns, list, options)
}

// GetInformer implements cache.Informers.
func (v *View) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := v.Cache.GetInformer(ctx, object, options...)
	return v.part(informer), err
}

// GetInformerForKind implements cache.Informers.
func (v *View) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := v.Cache.GetInformerForKind(ctx, kind, options...)
	return v.part(informer), err
}

func (v *View) part(of cache.Informer) cache.Informer {
	if of == nil {
		return nil
	}
	return &informer{of, v}
}

// RemoveInformer implements cache.Informers: it refuses, because others use the informer too.
func (v *View) RemoveInformer(context.Context, client.Object) error {
	return errors.New("the cache is shared: nobody stops an informer of it")
}

// Start implements cache.Informers: it returns when the view has ended, and then nobody hears of the cache by it.
func (v *View) Start(ctx context.Context) error {
	<-ctx.Done()
	return v.End()
}

// End has nobody hear of the cache by this view any more. It may be called more than once.
func (v *View) End() error {
	v.mu.Lock()
	leave := v.leave
	v.leave, v.ended = nil, true
	v.mu.Unlock()
	var failed error
	for _, one := range leave {
		failed = errors.Join(failed, one())
	}
	return failed
}

// informer is that of a view.
type informer struct {
	cache.Informer
	view *View
}

// AddEventHandler implements cache.Informer.
func (i *informer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *informer) AddEventHandlerWithResyncPeriod(
	handler toolscache.ResourceEventHandler, period time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *informer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	v := i.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended {
		return nil, errors.New("this part of the cache is not shown any more")
	}
	hears, err := i.Informer.AddEventHandlerWithOptions(toolscache.FilteringResourceEventHandler{
		FilterFunc: func(object any) bool {
			if gone, is := object.(toolscache.DeletedFinalStateUnknown); is {
				object = gone.Obj
			}
			found, err := meta.Accessor(object)
			return err == nil && v.owns(found.GetNamespace())
		},
		Handler: handler,
	}, options)
	if err == nil {
		v.leave = append(v.leave, func() error { return i.RemoveEventHandler(hears) })
	}
	return hears, err
}

// reader reads what belongs to some namespaces.
type reader struct {
	client.Reader
	owns Owns
}

// NewReader lists only what is in the namespaces that are shown.
func NewReader(of client.Reader, owns Owns) client.Reader { return reader{of, owns} }

// List implements client.Reader. A page of a list may come out empty where more follow.
func (r reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return listOwned(ctx, r.Reader, r.owns, list, options)
}

// listOwned lists what is in the namespaces that are owned.
func listOwned(ctx context.Context, from client.Reader, owns Owns, list client.ObjectList, options []client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.Namespace != "" && !owns(asked.Namespace) {
		return meta.SetList(list, nil)
	}
	if err := from.List(ctx, list, options...); err != nil || asked.Namespace != "" {
		return err
	}
	var owned []runtime.Object
	all := true
	err := meta.EachListItem(list, func(object runtime.Object) error {
		found, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		if owns(found.GetNamespace()) {
			owned = append(owned, object)
		} else {
			all = false
		}
		return nil
	})
	if err != nil || all {
		return err
	}
	return meta.SetList(list, owned)
}
