// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// sized is a result of so many bytes.
type sized int64

func (sized) About() string { return "size" }
func (sized) Write(context.Context, *v1alpha1.FeedItem, int) (*v1alpha1.FeedItem, error) {
	return nil, nil
}
func (s sized) PutAway() int64 { return int64(s) }

// R3.14, R3.13: what is kept has a bound, which a namespace cannot use up for the others.
func TestWhatIsKeptIsBoundedForEachNamespace(t *testing.T) {
	t.Parallel()
	var kept keptResults
	keep := func(namespace, name string) {
		item := &v1alpha1.FeedItem{}
		item.Namespace, item.Name = namespace, name
		kept.keep(item, sized(40<<10))
	}
	for i := range 10_000 {
		if kept.Full("greedy") {
			break
		}
		keep("greedy", fmt.Sprint(i))
	}
	switch bytes := kept.bytes; {
	case !kept.Full("greedy"), bytes > 16<<20:
		t.Errorf("one namespace has %d MiB", bytes>>20)
	case kept.Full("newcomer"):
		t.Error("there is no room for another namespace")
	}
	keep("greedy", "0") // in place of the one before
	before := kept.bytes
	keep("greedy", "0")
	if kept.bytes != before {
		t.Errorf("another result about the same takes %d bytes more", kept.bytes-before)
	}
	for i := range 10_000 {
		kept.Drop(types.NamespacedName{Namespace: "greedy", Name: fmt.Sprint(i)})
	}
	if kept.bytes != 0 || kept.Full("greedy") {
		t.Errorf("%d bytes are left", kept.bytes)
	}
}
