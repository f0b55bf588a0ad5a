// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shardcache

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// ours are the namespaces of a shard.
func ours(namespace string) bool { return strings.HasPrefix(namespace, "our-") }

func reading(t *testing.T) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret("our-a", "1"), secret("their-b", "2"), secret("our-c", "3"), secret("our-c", "4")).Build()
}

// R6.3: who lists sees the namespaces of the shard, in the cache and at the API server alike.
func TestOnlyTheNamespacesOfAShardAreListed(t *testing.T) {
	t.Parallel()
	all := reading(t)
	readers := map[string]client.Reader{
		"the cache": NewView(&Shared{Cache: fakeCache{Reader: all}}, ours), "the API server": NewReader(all, ours),
	}
	for from, reader := range readers {
		for namespace, want := range map[string][]string{"": {"1", "3", "4"}, "our-c": {"3", "4"}, "their-b": nil} {
			list := &corev1.SecretList{Items: []corev1.Secret{*secret("their-b", "from before")}}
			if err := reader.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range list.Items {
				got = append(got, list.Items[i].Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("of namespace %q of %s %v are listed, want %v", namespace, from, got, want)
			}
		}
	}
}

// fakeCache has one informer.
type fakeCache struct {
	cache.Cache
	client.Reader
	informer *fakeInformer
	indexes  *int
}

func (c fakeCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.Reader.List(ctx, list, options...)
}

func (c fakeCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.Reader.Get(ctx, key, object, options...)
}

func (c fakeCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informer, nil
}

func (c fakeCache) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	*c.indexes++
	return nil
}

// fakeInformer tells those who hear of it what it is told.
type fakeInformer struct {
	cache.Informer
	heard []toolscache.ResourceEventHandler
}

// registration is that of one who hears, by their number.
type registration struct {
	toolscache.ResourceEventHandlerRegistration
	number int
}

func (i *fakeInformer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.heard = append(i.heard, handler)
	return registration{number: len(i.heard) - 1}, nil
}

func (i *fakeInformer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	i.heard[handle.(registration).number] = nil
	return nil
}

// R6.3: who hears of the cache hears of the namespaces of the shard, and when the shard is given up of nothing any more: not even who comes too late. Others go
// on hearing.
func TestOnlyTheNamespacesOfAShardAreHeardUntilItIsGivenUp(t *testing.T) {
	t.Parallel()
	informer := &fakeInformer{}
	shared := &Shared{Cache: fakeCache{informer: informer}}
	mine, other := NewView(shared, ours), NewView(shared, func(string) bool { return true })
	heard := map[*View][]string{}
	hear := func(view *View) error {
		hearing, err := view.GetInformer(t.Context(), &corev1.Secret{})
		if err != nil {
			return err
		}
		note := func(object any) {
			if gone, is := object.(toolscache.DeletedFinalStateUnknown); is {
				object = gone.Obj
			}
			heard[view] = append(heard[view], object.(client.Object).GetName())
		}
		_, err = hearing.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: note, UpdateFunc: func(_, object any) { note(object) }, DeleteFunc: note,
		})
		return err
	}
	for _, view := range []*View{mine, other} {
		if err := hear(view); err != nil {
			t.Fatal(err)
		}
	}
	tell := func() {
		for _, handler := range informer.heard {
			if handler == nil {
				continue
			}
			for i, namespace := range []string{"our-a", "their-b"} {
				object := secret(namespace, []string{"ours", "theirs"}[i])
				handler.OnAdd(object, false)
				handler.OnUpdate(object, object)
				handler.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: object})
			}
		}
	}
	tell()
	if want := []string{"ours", "ours", "ours"}; !slices.Equal(heard[mine], want) || len(heard[other]) != 6 {
		t.Errorf("heard of %v and %v", heard[mine], heard[other])
	}
	ending, end := context.WithCancel(t.Context())
	end()
	if err := mine.Start(ending); err != nil { // as the manager of the shard does it
		t.Fatal(err)
	}
	tell()
	if len(heard[mine]) != 3 || len(heard[other]) != 12 {
		t.Errorf("after the end heard of %v and %v", heard[mine], heard[other])
	}
	if err := hear(mine); err == nil {
		t.Error("somebody hears of a shard that was given up")
	}
	if err := mine.RemoveInformer(t.Context(), &corev1.Secret{}); err == nil {
		t.Error("one shard takes the cache away from all")
	}
}

// R6.3: the operators of all shards want the same indexes, which the cache takes once.
func TestAnIndexIsMadeOnce(t *testing.T) {
	t.Parallel()
	made := 0
	shared := &Shared{Cache: fakeCache{indexes: &made}}
	for range 3 {
		for _, field := range []string{"one", "two"} {
			if err := NewView(shared, ours).IndexField(t.Context(), &corev1.Secret{}, field, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if made != 2 {
		t.Errorf("%d indexes were made", made)
	}
}
