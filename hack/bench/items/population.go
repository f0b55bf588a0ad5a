// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// populate creates sources whose items are all processed and posted, and whose feeds list the newest
// of them.
func populate(ctx context.Context, p *rig.Plane, feeds *rig.Feeds, namespace string, sources, perSource int) error {
	start := time.Now()
	return withoutStatusSubresource(ctx, p, namespace, func() error {
		for i := range sources {
			name := sourceName(i)
			entries := news.Entries(name, perSource)
			source := news.Source(namespace, name, feeds.Publish(name, entries[:min(perSource, news.FeedLength)]), news.Posting)
			if err := p.Client.Create(ctx, source); err != nil {
				return fmt.Errorf("create a FeedSource: %w", err)
			}
			if err := createProcessed(ctx, p, source, entries); err != nil {
				return err
			}
			if done := i + 1; done%10 == 0 || done == sources {
				rig.Progress("Created %d of %d processed items after %s …", done*perSource, sources*perSource, time.Since(start).Round(time.Second))
			}
		}
		return nil
	})
}

func createProcessed(ctx context.Context, p *rig.Plane, source *v1alpha1.FeedSource, entries []feed.Entry) error {
	const atOnce = 32
	return rig.Each(ctx, len(entries), atOnce, func(ctx context.Context, i int) error {
		item := news.Item(source, entries[i])
		news.Settle(item, source)
		return p.Client.Create(ctx, item)
	})
}

// withoutStatusSubresource calls a function while items have no status subresource, so that an item
// can be created with its status in one write: two would take twice as many minutes.
func withoutStatusSubresource(ctx context.Context, p *rig.Plane, namespace string, create func() error) error {
	kind := &apiextensionsv1.CustomResourceDefinition{}
	if err := p.Client.Get(ctx, client.ObjectKey{Name: "feeditems." + v1alpha1.GroupVersion.Group}, kind); err != nil {
		return err
	}
	original := kind.DeepCopy()
	for i := range kind.Spec.Versions {
		kind.Spec.Versions[i].Subresources = nil
	}
	if err := changeKind(ctx, p, kind, namespace, true); err != nil {
		return err
	}
	failed := create()
	original.ResourceVersion = kind.ResourceVersion
	if err := errors.Join(failed, changeKind(ctx, p, original, namespace, false)); err != nil {
		return err
	}
	return untilCached(ctx, p)
}

// untilCached waits until the API server has read all items into its cache again, which it does
// anew after a change of the kind.
func untilCached(ctx context.Context, p *rig.Plane) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedItemList"))
	fromCache := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
	none := client.MatchingFields{"status.phase": string(v1alpha1.PhaseFailed)}
	return rig.Until(ctx, func(ctx context.Context) (bool, error) {
		err := p.Client.List(ctx, list, fromCache, none)
		if apierrors.IsTooManyRequests(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// changeKind writes the kind of items, and waits until the API server takes, or does not take, a
// status from who creates an item.
func changeKind(ctx context.Context, p *rig.Plane, kind *apiextensionsv1.CustomResourceDefinition, namespace string, takes bool) error {
	if err := p.Client.Update(ctx, kind); err != nil {
		return fmt.Errorf("change the kind of items: %w", err)
	}
	source := news.Source(namespace, "probe", "https://news.example.com/feed")
	source.UID = "probe"
	return rig.Until(ctx, func(ctx context.Context) (bool, error) {
		probe := news.Item(source, news.Entries("probe", 1)[0])
		news.Settle(probe, source)
		err := p.Client.Create(ctx, probe, client.DryRunAll)
		return err == nil && (probe.Status.Phase == v1alpha1.PhaseProcessed) == takes, nil
	})
}
