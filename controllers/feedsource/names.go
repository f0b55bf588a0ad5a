// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/derive"
)

// nameFeed writes down what a feed calls itself before items are made of it, where their posts say it: a post
// that is looked for, or made again, must read as it did the first time.
func (r *Reconciler) nameFeed(ctx context.Context, source *v1alpha1.FeedSource, title string) error {
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
		setFirstPoll(source, r.Clock.Now())
		source.Status.Title = name
	})
	if err != nil {
		return err
	}
	r.Names.Learn(source, name)
	if written.Generation == source.Generation { // else the poll goes on with the spec that it began with
		*source = *written
	}
	return nil
}

func (r *Reconciler) postsNameFeed(ctx context.Context, source *v1alpha1.FeedSource) (bool, error) {
	for _, ref := range source.Spec.Destinations {
		var described v1alpha1.FeedDestination
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: source.Namespace, Name: ref.Name}, &described)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		if derive.NamesFeed(&described) {
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
