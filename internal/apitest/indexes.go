// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Indexes has a fake client know the indexes of a cache.
type Indexes struct{ *fake.ClientBuilder }

// IndexField implements client.FieldIndexer.
func (i Indexes) IndexField(_ context.Context, object client.Object, field string, of client.IndexerFunc) error {
	i.WithIndex(object, field, of)
	return nil
}
