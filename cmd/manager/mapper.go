// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// rememberingMapper keeps what it was told of a kind. With --namespace, each read of the cache asks whether its
// kind is namespaced; to work that out anew took a fifth of the memory that a poll allocates. The kinds
// that the operator uses never change in that.
type rememberingMapper struct {
	meta.RESTMapper
	known sync.Map // of mappingKey to *meta.RESTMapping
}

// newMapper is for the options of a manager.
func newMapper(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	return &rememberingMapper{RESTMapper: mapper}, err
}

// RESTMapping implements meta.RESTMapper.
func (m *rememberingMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	key := mappingKey{kind, strings.Join(versions, ",")}
	if known, ok := m.known.Load(key); ok {
		return known.(*meta.RESTMapping), nil
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Store(key, mapping)
	}
	return mapping, err
}

// mappingKey is what a mapping is asked for by.
type mappingKey struct {
	kind     schema.GroupKind
	versions string
}
