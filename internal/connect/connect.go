// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connect makes what calls the service that an AIProvider or a FeedDestination describes.
//
// It is the one place that knows all providers and all destinations. It calls none of them.
package connect

import (
	"fmt"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/mastodon"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/anthropic"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
	"github.com/feed-operator/feed-operator/internal/provider/gemini"
	"github.com/feed-operator/feed-operator/internal/provider/openai"
)

// Providers returns what makes the client of the service that an AIProvider describes, with its
// credentials. An error explains what in the spec cannot work.
func Providers(out *outbound.Client) func(described *v1alpha1.AIProvider, credentials string) (provider.Provider, error) {
	return func(described *v1alpha1.AIProvider, credentials string) (provider.Provider, error) {
		switch spec := described.Spec; {
		case spec.Gemini != nil:
			return gemini.New(gemini.Config{
				Model: spec.Gemini.Model, Endpoint: spec.Gemini.Endpoint, APIKey: credentials, Now: out.Now,
				Transport: out.Transport(outbound.TransportOptions{Owner: described.Namespace}),
			})
		case spec.OpenAI != nil:
			return openai.New(openai.Config{
				Model: spec.OpenAI.Model, Endpoint: spec.OpenAI.Endpoint, APIKey: credentials, Now: out.Now,
				Transport: out.Transport(outbound.TransportOptions{Owner: described.Namespace}),
			})
		case spec.Anthropic != nil:
			return anthropic.New(anthropic.Config{
				Model: spec.Anthropic.Model, Endpoint: spec.Anthropic.Endpoint, APIKey: credentials, Now: out.Now,
				Transport: out.Transport(outbound.TransportOptions{Owner: described.Namespace}),
			})
		case spec.Extractive != nil:
			return extractive.New(), nil
		}
		return nil, fmt.Errorf("AIProvider %s names no provider that this version knows", described.Name)
	}
}

// Destinations returns what makes the client of the account that a FeedDestination describes, likewise.
func Destinations(out *outbound.Client) func(described *v1alpha1.FeedDestination, credentials string) (destination.Destination, error) {
	return func(described *v1alpha1.FeedDestination, credentials string) (destination.Destination, error) {
		if spec := described.Spec.Mastodon; spec != nil {
			return mastodon.New(mastodon.Config{
				Server: spec.Server, AccessToken: credentials, Now: out.Now,
				Transport: out.Transport(outbound.TransportOptions{Owner: described.Namespace, FreshConnections: true}),
			})
		}
		return nil, fmt.Errorf("FeedDestination %s names no destination that this version knows", described.Name)
	}
}
