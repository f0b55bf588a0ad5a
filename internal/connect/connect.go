// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connect makes what calls the service that an AIProvider or a FeedDestination describes.
//
// It is the one place that knows all providers and all destinations. It calls none of them.
package connect

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/mastodon"
	"github.com/feed-operator/feed-operator/internal/destination/webhook"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/anthropic"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
	"github.com/feed-operator/feed-operator/internal/provider/gemini"
	"github.com/feed-operator/feed-operator/internal/provider/openai"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

// Providers returns what makes the client of the service that an AIProvider describes, with its
// credentials. An error explains what in the spec cannot work.
func Providers(out *outbound.Client) func(described *v1alpha1.AIProvider, credentials secrets.Values) (provider.Provider, error) {
	return func(described *v1alpha1.AIProvider, credentials secrets.Values) (provider.Provider, error) {
		switch spec := described.Spec; {
		case spec.Gemini != nil:
			return gemini.New(gemini.Config{
				Model: spec.Gemini.Model, Endpoint: spec.Gemini.Endpoint, APIKey: credentials[secrets.KeyAPIKey], Now: out.Now,
				Transport: out.Transport(outbound.TransportOptions{Owner: described.Namespace}),
			})
		case spec.OpenAI != nil:
			return openai.New(openai.Config{
				Model: spec.OpenAI.Model, Endpoint: spec.OpenAI.Endpoint, APIKey: credentials[secrets.KeyAPIKey], Now: out.Now,
				Transport: out.Transport(outbound.TransportOptions{Owner: described.Namespace}),
			})
		case spec.Anthropic != nil:
			return anthropic.New(anthropic.Config{
				Model: spec.Anthropic.Model, Endpoint: spec.Anthropic.Endpoint, APIKey: credentials[secrets.KeyAPIKey], Now: out.Now,
				Transport: out.Transport(outbound.TransportOptions{Owner: described.Namespace}),
			})
		case spec.Extractive != nil:
			return extractive.New(), nil
		}
		return nil, fmt.Errorf("AIProvider %s names no provider that this version knows", described.Name)
	}
}

// Webhook returns what calls the webhook that a FeedDestination describes, by a way out.
func Webhook(described *v1alpha1.FeedDestination, credentials secrets.Values, now func() time.Time, way http.RoundTripper) (*webhook.Client, error) {
	spec := described.Spec.Webhook
	format := spec.BodyFormat()
	if spec.Events != nil {
		format = v1alpha1.WebhookCloudEvents
	}
	return webhook.New(webhook.Config{
		URL: cmp.Or(spec.URL, credentials[spec.URLKey()]), Secret: spec.URLFrom != nil,
		Token: credentials[secrets.KeyToken], SigningKeys: credentials[secrets.KeySigning], Header: secrets.HeaderOf(spec, credentials),
		ContentType: webhook.ContentType(format), DuplicateCodes: spec.DuplicateCodes(), Repeats: spec.Repeats(),
		Now: now, Transport: way,
	})
}

// Writer returns what makes the posts of a FeedDestination. An error explains what in the spec cannot work.
func Writer(described *v1alpha1.FeedDestination) (destination.Writer, error) {
	if spec := described.Spec.Webhook; spec != nil {
		return webhook.NewWriter(spec.BodyFormat(), spec.Body)
	}
	return destination.NewComposer(derive.Style(described))
}

// WayTo says which way out what a FeedDestination describes is called by. A webhook has done what the status of its answer says, whatever comes
// behind that.
func WayTo(described *v1alpha1.FeedDestination) outbound.TransportOptions {
	options := outbound.TransportOptions{Owner: described.Namespace, FreshConnections: true}
	if spec := described.Spec.Webhook; spec != nil {
		options.StatusIsEnough, options.MaxBytes, options.Secret = true, webhook.MaxAnswer, spec.URLFrom != nil
	}
	return options
}

// Destinations returns what makes the client of the account that a FeedDestination describes, likewise.
func Destinations(out *outbound.Client) func(described *v1alpha1.FeedDestination, credentials secrets.Values) (destination.Destination, error) {
	return func(described *v1alpha1.FeedDestination, credentials secrets.Values) (destination.Destination, error) {
		way := out.Transport(WayTo(described))
		switch spec := described.Spec; {
		case spec.Mastodon != nil:
			return mastodon.New(mastodon.Config{
				Server: spec.Mastodon.Server, AccessToken: credentials[secrets.KeyAccess], Now: out.Now, Transport: way,
			})
		case spec.Webhook != nil:
			caller, err := Webhook(described, credentials, out.Now, way)
			if err != nil {
				return nil, err
			}
			if refused := out.Refusal(caller.URL()); refused != nil { // nobody would find out before an item is lost for it
				return nil, caller.WithoutEchoes(refused)
			}
			return caller, nil
		}
		return nil, fmt.Errorf("FeedDestination %s names no destination that this version knows", described.Name)
	}
}
