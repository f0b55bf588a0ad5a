// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/overview"
)

func newStatus(cluster *cluster) *cobra.Command {
	var everywhere bool
	command := &cobra.Command{
		Use:   "status [SOURCE]",
		Short: "Show the status: what is polled, what waits, and what needs attention",
		Long: `Show the status: when each source was polled and will be, and what is wrong with it; how many items there are
in each phase, and what they wait for; what failed for good, and how to retry it; and which providers and
destinations are not available, and until when.`,
		Example: `  kubectl feed status
  kubectl feed status ministry-press -n press
  kubectl feed status -A`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			connected, namespace, err := cluster.connect()
			if err != nil {
				return err
			}
			state := overview.State{Now: time.Now(), Everywhere: everywhere}
			ctx, place := command.Context(), in(namespace, everywhere)
			ofItems := place
			if len(args) == 1 {
				var source v1alpha1.FeedSource
				if err := connected.Get(ctx, client.ObjectKey{Namespace: namespace, Name: args[0]}, &source); err != nil {
					return notFound(err, namespace)
				}
				state.Sources, state.Everywhere = []v1alpha1.FeedSource{source}, false
				place = in(namespace, false)
				ofItems = append(in(namespace, false), client.MatchingFields{"spec.sourceRef.name": args[0]})
			} else if err := list(ctx, connected, func(page *v1alpha1.FeedSourceList) { state.Sources = append(state.Sources, page.Items...) }, place...); err != nil {
				return err
			}
			err = list(ctx, connected, func(page *v1alpha1.FeedItemList) {
				for i := range page.Items { // there may be very many
					page.Items[i].Spec.Content, page.Items[i].Spec.CompressedContent, page.Items[i].Status.History = "", "", nil
				}
				state.Items = append(state.Items, page.Items...)
			}, ofItems...)
			if err != nil {
				return err
			}
			if err := list(ctx, connected, func(page *v1alpha1.AIProviderList) { state.Providers = append(state.Providers, page.Items...) }, place...); err != nil {
				return err
			}
			err = list(ctx, connected, func(page *v1alpha1.FeedDestinationList) {
				state.Destinations = append(state.Destinations, page.Items...)
			}, place...)
			if err != nil {
				return err
			}
			return overview.Write(command.OutOrStdout(), state)
		},
	}
	addEverywhere(command, &everywhere)
	return command
}
