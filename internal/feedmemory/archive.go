// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedmemory

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
)

// loadArchive reads the older part of a memory that has grown. It reports whether all is there: without its archive, a memory does not know
// what the feed may list again.
func (m *Memory) loadArchive(ctx context.Context, live client.Reader, latest *v1alpha1.FeedMemory) (complete bool, err error) {
	if latest.Data.Archive == "" {
		return true, nil
	}
	err = live.Get(ctx, client.ObjectKey{Namespace: latest.Namespace, Name: latest.Data.Archive}, &m.archive)
	if apierrors.IsNotFound(err) {
		ctrl.LoggerFrom(ctx).Info("FeedMemory archive is missing", "memory", latest.Name, "archive", latest.Data.Archive)
		latest.Data.Archive, m.archive = "", v1alpha1.FeedMemory{}
		return false, nil
	}
	return err == nil, err
}

// storeParts puts what is known into the data of the memory. What of that belongs into the archive is written at once: before the memory
// says that it is there.
func (m *Memory) storeParts(ctx context.Context, c client.Client, source *v1alpha1.FeedSource) error {
	archived := m.archive.Data
	if !m.Book.StoreParts(&m.Data, &archived) {
		return nil
	}
	m.Data.Archive = ArchiveNameOf(source)
	m.archive.Data = archived
	if m.archive.ResourceVersion != "" {
		if err := c.Update(ctx, &m.archive); !apierrors.IsNotFound(err) { // else somebody deleted it during the poll
			return err
		}
	}
	m.archive.ObjectMeta = derive.OwnedBy(source, m.Data.Archive)
	err := c.Create(ctx, &m.archive)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// It was written before, and what refers to it was not, or is not there any more.
	var found v1alpha1.FeedMemory
	if err := c.Get(ctx, client.ObjectKeyFromObject(&m.archive), &found); err != nil {
		return err
	}
	found.Data = archived
	return c.Update(ctx, &found)
}

// ArchiveNameOf is the name of the archive of a source's memory.
func ArchiveNameOf(source *v1alpha1.FeedSource) string { return nameOfMemory(source, "archive") }
