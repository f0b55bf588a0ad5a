// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// meant are the annotations that say something to the operator, and of how many bytes at most. Others of the project, of lists of feeds and of
// backups, say something to the kubectl plugin, which reads them itself.
var meant = map[string]int{
	v1alpha1.AnnotationRetry: anyLength, v1alpha1.AnnotationPoll: anyLength, v1alpha1.AnnotationOriginalUID: 64, v1alpha1.AnnotationOriginalCreation: 64,
}

// anyLength is that of tokens, of which the form is kept in which they are compared.
const anyLength = -1

// Bare drops what others hang onto an object and no decision needs. Nothing bounds it but the size of a whole object: the API server takes 100,000 labels,
// which are 5 MB of memory, and 20 ms each time that the object is read from the cache; and annotations of 256 KB.
func Bare(object any) (any, error) {
	if found, err := meta.Accessor(object); err == nil {
		Strip(found)
	}
	return object, nil
}

// Strip is Bare of an object that is known to be one. What is written of it afterwards has to be a patch: an update would drop the same from what is there.
func Strip(object metav1.Object) {
	object.SetManagedFields(nil)
	object.SetLabels(nil)
	object.SetOwnerReferences(nil)
	object.SetFinalizers(nil)
	var annotations map[string]string
	for name, value := range object.GetAnnotations() {
		switch longest, says := meant[name]; {
		case says && longest == anyLength:
			value = lifecycle.TokenOf(value)
		case !says || len(value) > longest:
			continue
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = value
	}
	object.SetAnnotations(annotations)
}

// LiveReader reads from the API server what people may write: of an object, and of each item of a list, it drops the same as the cache does. So an item that
// is held for as long as a call takes, or several together, takes no more memory than what the operator has written of it. Other kinds are read as they are.
type LiveReader struct{ client.Reader }

// Get implements client.Reader.
func (r LiveReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, object, options...)
	switch object.(type) {
	case *v1alpha1.FeedItem, *v1alpha1.FeedSource, *v1alpha1.AIProvider, *v1alpha1.FeedDestination:
		Strip(object)
	}
	return err
}

// List implements client.Reader.
func (r LiveReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := r.Reader.List(ctx, list, options...)
	if items, are := list.(*v1alpha1.FeedItemList); are {
		for i := range items.Items {
			Strip(&items.Items[i])
		}
	}
	return err
}
