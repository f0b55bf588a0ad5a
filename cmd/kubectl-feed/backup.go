// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/feed-operator/feed-operator/internal/backup"
	"github.com/feed-operator/feed-operator/internal/redact"
)

func newBackup(cluster *cluster) *cobra.Command {
	var suspend, stopped bool
	var asOf string
	command := &cobra.Command{
		Use:   "backup FILE",
		Short: "Save a namespace with all that is remembered of feeds and posts",
		Long: `Save what a namespace holds of FeedSources, FeedItems, AIProviders, FeedDestinations and FeedMemories, with
their statuses, in a file that only you can read, for kubectl feed restore. Secrets are not among it; which
ones are needed is said. A file that exists is not written over; - is standard output.

A backup of what an operator works on is old as soon as it is made. To move to another cluster, make one
that is final: with --suspend, all sources and destinations of the namespace are suspended first, and what is
under way is waited for; they stay suspended. Or stop the operator, and say so with --stopped.`,
		Example: `  kubectl feed backup press-2026-11-25.feeds
  kubectl feed backup press-final.feeds --suspend`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if suspend && stopped || asOf != "" && (suspend || stopped) {
				return usageError{errors.New("say one of --suspend, --stopped and --as-of")}
			}
			now := time.Now()
			if asOf != "" {
				at, err := time.Parse(time.RFC3339, asOf)
				if err != nil || at.After(now) {
					return usageError{errors.New("--as-of must be a time in the past such as 2026-11-25T03:00:00Z")}
				}
				now = at
			}
			if _, err := os.Stat(args[0]); err == nil {
				return fmt.Errorf("%s exists already: name another file, or remove it", args[0])
			}
			connected, namespace, err := cluster.connect()
			if err != nil {
				return err
			}
			if suspend {
				suspender := backup.Suspender{Client: connected, Namespace: namespace, Say: func(text string) { command.PrintErrln(text) }}
				if err := suspender.Suspend(command.Context()); err != nil {
					return err
				}
			}
			taken, err := backup.Take(command.Context(), connected, namespace, now, suspend || stopped)
			if err != nil {
				return err
			}
			if err := writePrivately(args[0], command.OutOrStdout(), taken.Write); err != nil {
				return err
			}
			sayTaken(command, taken)
			return nil
		},
	}
	command.Flags().BoolVar(&suspend, "suspend", false, "suspend all sources and destinations first, and wait for what is under way: for a move")
	command.Flags().BoolVar(&stopped, "stopped", false, "no operator works on this namespace: for a move")
	command.Flags().StringVar(&asOf, "as-of", "",
		"where the cluster itself was restored from a backup: when that was made, such as 2026-11-25T03:00:00Z")
	return command
}

func newResume(cluster *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Resume what kubectl feed backup --suspend has suspended",
		Long: `Resume what kubectl feed backup --suspend has suspended in the namespace, where it does not move after all. Never
do that once the backup was restored elsewhere: both would post.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			connected, namespace, err := cluster.connect()
			if err != nil {
				return err
			}
			suspender := backup.Suspender{Client: connected, Namespace: namespace}
			resumed, err := suspender.Resume(command.Context())
			command.Printf("Resumed %d sources and destinations of the namespace %s\n", resumed, namespace)
			return err
		},
	}
}

func sayTaken(command *cobra.Command, taken *backup.Backup) {
	command.PrintErrf("Saved %d sources, %d items, %d destinations and %d providers of the namespace %s\n",
		len(taken.Sources), len(taken.Items), len(taken.Destinations), len(taken.Providers), taken.Namespace)
	needed := taken.Secrets()
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		command.PrintErrf("Secret %s is not in it, and needed by %s\n", name, strings.Join(needed[name], ", "))
	}
	for i := range taken.Sources {
		if len(redact.CredentialsIn(taken.Sources[i].Spec.URL)) > 0 {
			command.PrintErrf("source/%s has what looks like a credential in its URL, which is in the file\n", taken.Sources[i].Name)
		}
	}
}

// writePrivately writes a file that nobody else can read, whole or not at all.
func writePrivately(name string, out io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(out)
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.partial") // 0600
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Sync(), file.Close())
	if err == nil {
		err = os.Link(file.Name(), name) // refuses a name that exists by now
	}
	return errors.Join(err, os.Remove(file.Name()))
}

func newRestore(cluster *cluster) *cobra.Command {
	var since string
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Bring a backup to this cluster, so that nothing is posted again",
		Long: `Bring what kubectl feed backup has saved into a namespace: all objects, with what was seen in the feeds and
what was posted. Nothing is posted again, and what was not finished goes on. An operator may run already:
all that is made is suspended until the whole is there. What is interrupted goes on when it is run again, and
what was restored before stays as it is by now.

Nothing may be there under the names of the sources, destinations and providers. The Secrets have to be made by
yourself; which ones are missing is said.

Of a backup that is not final nobody knows what was posted since. Each post that was still to be made is looked
for first. For entries that came since, say --entries-since-backup: skip or create.`,
		Example: `  kubectl feed restore press-final.feeds --context new --namespace press
  kubectl feed restore press-2026-11-25.feeds --entries-since-backup skip`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if since != "" && since != string(backup.EntriesSkip) && since != string(backup.EntriesCreate) {
				return usageError{errors.New("--entries-since-backup must be skip or create")}
			}
			saved, err := readBackup(args[0], command.InOrStdin())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			connected, namespace, err := cluster.connect()
			if err != nil {
				return err
			}
			restorer := backup.Restorer{Client: connected, Namespace: namespace, Since: backup.EntriesSince(since), Now: time.Now()}
			report, err := restorer.Restore(command.Context(), saved)
			for _, note := range report.Notes {
				command.PrintErrln(note)
			}
			if report.Uncertain > 0 && err == nil {
				command.PrintErrf("%d posts may have been made since the backup: they are looked for first, and left to you where they cannot be\n", report.Uncertain)
			}
			if err != nil {
				return err
			}
			command.Printf("Restored %d objects into the namespace %s; %d were there from before\n", report.Restored, namespace, report.Done)
			return nil
		},
	}
	command.Flags().StringVar(&since, "entries-since-backup", "", "of a backup that is not final: skip or create what the feeds list and the backup does not know")
	return command
}

func readBackup(name string, in io.Reader) (*backup.Backup, error) {
	if name == "-" {
		return backup.Read(in)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return backup.Read(file)
}
