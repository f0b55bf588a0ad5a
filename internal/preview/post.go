// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

// Post is what would be posted at one destination.
type Post struct {
	// Destination is the name of the FeedDestination.
	Destination string
	destination.Post
	// Length of the post as the server counts, and Limit how long it may be.
	Length, Limit int
	// Account that would post, as the server names it. May be empty.
	Account string
	// Assumed is why the limit is not the server's own; empty where it is.
	Assumed string
	// Problem is why there would be no post; empty where there would.
	Problem string
	// Format of the body of a webhook, in words; empty for a post of Mastodon. Text is the whole body then, or what is sent of the item in a
	// batch, and nothing is said of its length.
	Format string
	// Batch is how items are sent several at a time; nil: each by itself.
	Batch *v1alpha1.WebhookBatch
	// Image that would be uploaded and attached; nil where there is none, or none is wanted.
	Image *v1alpha1.EntryImage
	// NewKey means that the body holds an idempotency key that is another one in a cluster, where items have UIDs.
	NewKey bool
}

// publisher is a destination with what is known of it.
type publisher struct {
	writer  destination.Writer
	limits  destination.Limits
	account string
	assumed string
	problem string
	format  string
	batch   *v1alpha1.WebhookBatch
	images  bool
}

// The limits of a server that could not be asked: those of Mastodon.
var assumedLimits = destination.Limits{MaxCharacters: 500, CharactersPerURL: 23}

// compose makes the post of an item at a destination.
func (p *Previewer) compose(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem, name client.ObjectKey) (Post, error) {
	to, err := p.destinationNamed(ctx, name)
	if err != nil {
		return Post{}, err
	}
	post := Post{
		Destination: name.Name, Account: to.account, Assumed: to.assumed, Problem: to.problem, Limit: to.limits.MaxCharacters,
		Format: to.format, Batch: to.batch,
	}
	if to.problem != "" {
		return post, nil
	}
	material := derive.Material(item, source)
	material.Key = lifecycle.DeliveryKey(item, name.Name)
	if post.Post, err = to.writer.Compose(material, to.limits); err != nil {
		post.Problem = failure.Classify(err).Error()
		return post, nil
	}
	if to.images {
		post.Image = item.Image()
	}
	if to.format == "" {
		post.Length = destination.Length(post.Post, to.limits)
		return post, nil
	}
	if to.batch != nil {
		record, err := batch.Record(post.Text, material.Key)
		if err != nil {
			return Post{}, err
		}
		post.Text = string(record)
	}
	post.NewKey = item.UID == "" && strings.Contains(post.Text, material.Key)
	return post, nil
}

// destinationNamed finds a destination, once, and asks it how long posts may be.
func (p *Previewer) destinationNamed(ctx context.Context, name client.ObjectKey) (*publisher, error) {
	if known := p.destinations[name]; known != nil {
		return known, nil
	}
	known := &publisher{limits: assumedLimits}
	var described v1alpha1.FeedDestination
	switch err := p.Objects.Get(ctx, name, &described); {
	case apierrors.IsNotFound(err):
		known.problem = p.missing("FeedDestination", name.Name)
	case err != nil:
		return nil, err
	default:
		known.format, known.batch, known.images = formatOf(&described), described.Batch(), described.AttachesImages()
		if known.writer, err = connect.Writer(&described); err != nil {
			known.problem = failure.Mask(err.Error())
			break
		}
		if err := p.learn(ctx, &described, known); err != nil {
			known.assumed = strings.TrimRight(failure.Mask(err.Error()), ".")
			if server := described.Status.Server; server != nil { // what the operator was told
				known.account, known.assumed = server.Account, ""
				known.limits = destination.Limits{MaxCharacters: int(server.MaxCharacters), CharactersPerURL: int(server.CharactersPerURL)}
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if p.destinations == nil {
		p.destinations = map[client.ObjectKey]*publisher{}
	}
	p.destinations[name] = known
	return known, nil
}

// formatOf is the format of the bodies of a webhook, in words; empty for what is none.
func formatOf(described *v1alpha1.FeedDestination) string {
	switch webhook := described.Spec.Webhook; {
	case webhook == nil:
		return ""
	case webhook.Body != "":
		return "spec.webhook.body"
	default:
		return "the format " + string(webhook.BodyFormat())
	}
}

// learn asks the server about itself, which posts nothing.
func (p *Previewer) learn(ctx context.Context, described *v1alpha1.FeedDestination, into *publisher) error {
	credentials, _, err := secrets.OfDestination(ctx, p.Objects, described)
	if err != nil {
		return err
	}
	to, err := p.Destinations(described, credentials)
	if err != nil {
		return err
	}
	asked, ok := to.(destination.Checker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, described.Timeout())
	defer cancel()
	account, err := asked.Check(ctx)
	if err != nil {
		return err
	}
	into.account, into.limits = account.Handle, account.Limits
	return nil
}
