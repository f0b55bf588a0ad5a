// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// askedMapper counts what it is asked for, and knows it from the second time on.
type askedMapper struct {
	meta.RESTMapper
	asked int
}

func (m *askedMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if m.asked++; m.asked == 1 {
		return nil, errors.New("the API server is away")
	}
	return &meta.RESTMapping{GroupVersionKind: kind.WithVersion(versions[0]), Scope: meta.RESTScopeNamespace}, nil
}

// R1.3: what is known of a kind is not asked for with each read of the cache; what could not be found out is.
func TestWhatIsKnownOfAKindIsRemembered(t *testing.T) {
	t.Parallel()
	asked := &askedMapper{}
	mapper := &rememberingMapper{RESTMapper: asked}
	source := v1alpha1.GroupVersion.WithKind("FeedSource")
	if _, err := mapper.RESTMapping(source.GroupKind(), source.Version); err == nil {
		t.Error("an error is lost")
	}
	for range 3 {
		mapping, err := mapper.RESTMapping(source.GroupKind(), source.Version)
		if err != nil || mapping.GroupVersionKind != source {
			t.Fatalf("%+v, %v", mapping, err)
		}
	}
	if asked.asked != 2 {
		t.Errorf("asked %d times, want 2", asked.asked)
	}
	item := v1alpha1.GroupVersion.WithKind("FeedItem")
	if mapping, err := mapper.RESTMapping(item.GroupKind(), item.Version); err != nil || mapping.GroupVersionKind != item {
		t.Errorf("another kind: %+v, %v", mapping, err)
	}
}
