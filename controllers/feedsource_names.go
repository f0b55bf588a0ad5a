// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/derive"
)

// feedNames are what feeds call themselves, of those whose posts say it, until the cache has heard of it: it
// may hear of an item before that. The zero value knows none.
type feedNames struct{ known sync.Map } // feedName by types.NamespacedName of the source

type feedName struct {
	source types.UID
	name   string
}

func (n *feedNames) of(source *v1alpha1.FeedSource) string {
	found, _ := n.known.Load(client.ObjectKeyFromObject(source))
	if known, ok := found.(feedName); ok && known.source == source.UID {
		return known.name
	}
	return ""
}

func (n *feedNames) learn(source *v1alpha1.FeedSource, name string) {
	n.known.Store(client.ObjectKeyFromObject(source), feedName{source.UID, name})
}

// forget is called when the cache has a name for the source, or the source is gone.
func (n *feedNames) forget(key types.NamespacedName) { n.known.Delete(key) }

// nameFeed writes down what a feed calls itself before items are made of it, where their posts say it: a post
// that is looked for, or made again, must read as it did the first time.
func (r *FeedSourceReconciler) nameFeed(ctx context.Context, source *v1alpha1.FeedSource, title string) error {
	name := feedTitle(title)
	if name == source.Status.Title {
		return nil
	}
	named, err := r.postsNameFeed(ctx, source)
	if err != nil || !named {
		return err
	}
	written := source.DeepCopy()
	err = r.write(ctx, written, func(source *v1alpha1.FeedSource) {
		setBeginning(source, r.Clock.Now())
		source.Status.Title = name
	})
	if err != nil {
		return err
	}
	r.Names.learn(source, name)
	if written.Generation == source.Generation { // else the poll goes on with the spec that it began with
		*source = *written
	}
	return nil
}

func (r *FeedSourceReconciler) postsNameFeed(ctx context.Context, source *v1alpha1.FeedSource) (bool, error) {
	for _, ref := range source.Spec.Destinations {
		var described v1alpha1.FeedDestination
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: source.Namespace, Name: ref.Name}, &described)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		if derive.Style(&described).NamesFeed() {
			return true, nil
		}
	}
	return false, nil
}

// feedTitle is the title of a document, without what its server was sent, as it stands on the status.
func feedTitle(title string) string {
	const longest = 512
	return conditions.Cut(title, longest)
}
