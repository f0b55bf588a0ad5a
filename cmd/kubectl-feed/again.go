// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/annotate"
)

// newToken is a value that no annotation had before.
func newToken() string { return "kubectl-feed-" + time.Now().UTC().Format(time.RFC3339Nano) }

func newRetry(cluster *cluster) *cobra.Command {
	var all, failed bool
	var source string
	command := &cobra.Command{
		Use:   "retry [ITEM | source/NAME | provider/NAME | destination/NAME]...",
		Short: "Retry what has failed now",
		Long: `Retry what has failed now, by a new value of the annotation feeds.feed-operator.io/retry: an item; all
deferred and failed items of a source; or all that failed last at a provider or a destination, whose pauses
end. With --all, all items of the namespace that have failed or wait after a failure; --source and --failed
narrow that down. What was posted is not posted again, but for items with the reason DeliveryUncertain:
look first whether their posts are there.`,
		Example: `  kubectl feed retry ministry-press-kchxkdx7mjllg
  kubectl feed retry provider/gemini
  kubectl feed retry --all --source ministry-press --failed`,
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkRetry(args, all, failed, source); err != nil {
				return err
			}
			targets := make([]client.Object, 0, len(args))
			for _, argument := range args {
				target, err := annotate.Target(argument)
				if err != nil {
					return usageError{err}
				}
				targets = append(targets, target)
			}
			connected, namespace, err := cluster.connect()
			if err != nil {
				return err
			}
			if all {
				return retryAll(command, connected, namespace, source, failed)
			}
			token := newToken()
			var errs []error
			for _, target := range targets {
				target.SetNamespace(namespace)
				said, err := annotate.Retry(command.Context(), connected, target, token)
				if err != nil {
					errs = append(errs, notFound(err, namespace))
					continue
				}
				command.Println(said)
			}
			return errors.Join(errs...)
		},
	}
	command.Flags().BoolVar(&all, "all", false, "all items that have failed or wait after a failure")
	command.Flags().StringVar(&source, "source", "", "with --all: only those of this FeedSource")
	command.Flags().BoolVar(&failed, "failed", false, "with --all: only those that failed for good")
	return command
}

func checkRetry(args []string, all, failed bool, source string) error {
	switch {
	case all && len(args) > 0:
		return usageError{errors.New("name what to retry, or --all, but not both")}
	case !all && (failed || source != ""):
		return usageError{errors.New("--source and --failed go with --all")}
	case !all && len(args) == 0:
		return usageError{errors.New("name an item, source/NAME, provider/NAME or destination/NAME, or --all")}
	}
	return nil
}

// retryAll has all items tried again that have failed. Who is gone meanwhile is no mistake.
func retryAll(command *cobra.Command, c client.Client, namespace, source string, failed bool) error {
	options := []client.ListOption{client.InNamespace(namespace)}
	fields := client.MatchingFields{}
	if source != "" {
		fields["spec.sourceRef.name"] = source
	}
	if failed {
		fields["status.phase"] = string(v1alpha1.PhaseFailed)
	}
	if len(fields) > 0 {
		options = append(options, fields)
	}
	var names []string
	err := list(command.Context(), c, func(page *v1alpha1.FeedItemList) {
		for i := range page.Items {
			if annotate.Failed(&page.Items[i]) {
				names = append(names, page.Items[i].Name)
			}
		}
	}, options...)
	if err != nil {
		return err
	}
	token := newToken()
	for _, name := range names {
		item := &v1alpha1.FeedItem{}
		item.Name, item.Namespace = name, namespace
		said, err := annotate.Retry(command.Context(), c, item, token)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			command.Println(said)
		}
	}
	if len(names) == 0 {
		command.Println("There is nothing to retry.")
	}
	return nil
}

func newPoll(cluster *cluster) *cobra.Command {
	var all bool
	command := &cobra.Command{
		Use:     "poll SOURCE...",
		Short:   "Poll sources now",
		Long:    "Poll sources now, by a new value of the annotation feeds.feed-operator.io/poll.",
		Example: "  kubectl feed poll ministry-press",
		RunE: func(command *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usageError{errors.New("name the FeedSources to poll, or --all")}
			}
			connected, namespace, err := cluster.connect()
			if err != nil {
				return err
			}
			if all {
				err := list(command.Context(), connected, func(page *v1alpha1.FeedSourceList) {
					for i := range page.Items {
						args = append(args, page.Items[i].Name)
					}
				}, client.InNamespace(namespace))
				if err != nil {
					return err
				}
			}
			token := newToken()
			var errs []error
			for _, name := range args {
				source := &v1alpha1.FeedSource{}
				source.Name, source.Namespace = name, namespace
				said, err := annotate.Poll(command.Context(), connected, source, token)
				if err != nil {
					errs = append(errs, notFound(err, namespace))
					continue
				}
				command.Println(said)
			}
			return errors.Join(errs...)
		},
	}
	command.Flags().BoolVar(&all, "all", false, "all sources of the namespace")
	return command
}
