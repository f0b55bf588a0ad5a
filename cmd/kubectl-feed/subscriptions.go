// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/opml"
	"github.com/feed-operator/feed-operator/internal/preview"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/terminal"
)

func newImport(cluster *cluster) *cobra.Command {
	var providers, destinations []string
	var interval time.Duration
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Turn the subscriptions of a feed reader (OPML) into FeedSources",
		Long: `Turn the subscriptions of a feed reader, exported as OPML, into FeedSources, as YAML on standard output. No
cluster is needed. What is no feed, or there twice, is passed over with a note. A feed that cannot
become a FeedSource, as one with a password in its URL, is reported, and the exit status is 1.

The names are made of the titles, or of the URLs where a title has too few Latin letters; the same list gives
the same names. Titles and folders are kept as annotations, for kubectl feed export.`,
		Example: `  kubectl feed import subscriptions.opml > sources.yaml
  kubectl feed import subscriptions.opml --interval 30m --destination press-bot | kubectl apply -f -`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			template := v1alpha1.FeedSource{}
			template.Namespace = cluster.overrides.Context.Namespace
			if command.Flags().Changed("interval") {
				if interval < time.Minute || interval > 168*time.Hour {
					return usageError{errors.New("--interval must be from 1m to 168h")}
				}
				template.Spec.Interval = &metav1.Duration{Duration: interval}
			}
			for _, name := range providers {
				template.Spec.Providers = append(template.Spec.Providers, v1alpha1.ProviderReference{Name: name})
			}
			for _, name := range destinations {
				template.Spec.Destinations = append(template.Spec.Destinations, v1alpha1.DestinationReference{Name: name})
			}
			return importList(command, args[0], template)
		},
	}
	set := command.Flags()
	set.StringArrayVar(&providers, "provider", nil, "AIProvider of each source; repeatable, in the order in which they stand in for each other")
	set.StringArrayVar(&destinations, "destination", nil, "FeedDestination of each source; repeatable")
	set.DurationVar(&interval, "interval", v1alpha1.DefaultInterval, "how often each feed is polled")
	return command
}

func importList(command *cobra.Command, name string, template v1alpha1.FeedSource) error {
	body, err := readList(name, command.InOrStdin())
	if err != nil {
		return err
	}
	document, err := opml.Parse(body)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	sources, skipped := opml.Sources(document.Feeds, template)
	refused := 0
	for _, entry := range append(document.Skipped, skipped...) {
		if entry.Refused {
			refused++
		}
		command.PrintErrf("Skipped %q: %s\n", redact.Text(terminal.Line(entry.Title)), terminal.Line(entry.Why))
	}
	for i := range sources {
		text, err := yaml.Marshal(&sources[i])
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := command.OutOrStdout().Write(text); err != nil {
			return err
		}
	}
	switch {
	case refused > 0:
		return fmt.Errorf("%d of %d feeds cannot become FeedSources as they are; the others were written", refused, refused+len(sources))
	case len(sources) == 0:
		return fmt.Errorf("%s: there is no feed in the list", name)
	}
	return nil
}

func readList(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, opml.MaxBytes+1))
}

func newExport(cluster *cluster) *cobra.Command {
	var everywhere bool
	var files []string
	command := &cobra.Command{
		Use:   "export",
		Short: "Write the FeedSources as the subscriptions of a feed reader (OPML)",
		Long: `Write the FeedSources of the namespace as OPML on standard output, which any feed reader can import. It holds
the feeds' URLs, but neither Secrets nor what URLs hold of credentials: user names, passwords, tokens.`,
		Example: `  kubectl feed export -A > subscriptions.opml
  kubectl feed export -f sources.yaml`,
		Args: arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			sources, err := exported(command, cluster, files, everywhere)
			if err != nil {
				return err
			}
			feeds := opml.Feeds(sources)
			for i := range sources {
				if feeds[i].URL != sources[i].Spec.URL {
					command.PrintErrf("source/%s: the credentials in its URL are left out\n", sources[i].Name)
				}
			}
			return opml.Write(command.OutOrStdout(), opml.Document{Title: "Subscriptions of feed-operator", Feeds: feeds})
		},
	}
	addEverywhere(command, &everywhere)
	command.Flags().StringArrayVarP(&files, "filename", "f", nil, "file or folder with FeedSources, instead of the cluster; repeatable")
	return command
}

func exported(command *cobra.Command, cluster *cluster, files []string, everywhere bool) ([]v1alpha1.FeedSource, error) {
	var sources []v1alpha1.FeedSource
	if len(files) > 0 {
		objects := &preview.Objects{}
		for _, file := range files {
			if err := readManifests(objects, file, command.InOrStdin()); err != nil {
				return nil, err
			}
		}
		for _, source := range objects.Sources() {
			sources = append(sources, *source)
		}
		return sources, nil
	}
	connected, namespace, err := cluster.connect()
	if err != nil {
		return nil, err
	}
	err = list(command.Context(), connected, func(page *v1alpha1.FeedSourceList) { sources = append(sources, page.Items...) }, in(namespace, everywhere)...)
	return sources, err
}

func addEverywhere(command *cobra.Command, everywhere *bool) {
	command.Flags().BoolVarP(everywhere, "all-namespaces", "A", false, "in all namespaces")
}

// in returns where objects are listed.
func in(namespace string, everywhere bool) []client.ListOption {
	if everywhere {
		return nil
	}
	return []client.ListOption{client.InNamespace(namespace)}
}
