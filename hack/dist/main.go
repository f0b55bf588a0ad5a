// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dist makes what a release consists of, in the folder dist: the image, install.yaml, the Helm chart, the kubectl plugin with its manifest for
// krew, and checksums of all. The same commit makes the same bytes, for the same version.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist: "+err.Error())
		os.Exit(1)
	}
}

// release is what is made, and of what.
type release struct {
	// root is the folder of the repository, into the one of what is made.
	root, into string
	// image is the name of the image, without a tag.
	image   string
	version version
	// made is when all files were made, by what they say.
	made time.Time
}

func command() *cobra.Command {
	r := &release{}
	var versionText, seconds string
	root := &cobra.Command{
		Use: "dist", Short: "Make what a release consists of", SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			r.version, err = parseVersion(versionText)
			if err != nil {
				return err
			}
			r.made, err = sourceDate(seconds)
			if err != nil {
				return err
			}
			return os.MkdirAll(r.into, 0o755) //nolint:gosec // what is made is for everybody
		},
		PersistentPostRunE: func(*cobra.Command, []string) error { return writeChecksums(r.into) },
	}
	root.PersistentFlags().StringVar(&r.root, "root", ".", "folder of the repository")
	root.PersistentFlags().StringVar(&r.into, "into", "dist", "folder of what is made")
	root.PersistentFlags().StringVar(&r.image, "image", "", "name of the image, without a tag")
	root.PersistentFlags().StringVar(&versionText, "version", "", "version of the release, such as v1.2.3, or a commit")
	root.PersistentFlags().StringVar(&seconds, "source-date-epoch", os.Getenv("SOURCE_DATE_EPOCH"), "seconds since 1970 that all files say they were made at")
	for _, name := range []string{"image", "version"} {
		if err := root.MarkPersistentFlagRequired(name); err != nil {
			panic(err) // it is declared above
		}
	}
	root.AddCommand(imageCommand(r), releaseCommand(r))
	return root
}

// sourceDate is the time of SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch), in seconds since 1970.
func sourceDate(seconds string) (time.Time, error) {
	if seconds == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	since, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, and no number of seconds", seconds)
	}
	return time.Unix(since, 0).UTC(), nil
}

// run runs a program in the folder of the repository, and returns what it prints. What it complains of is passed on.
func (r *release) run(ctx context.Context, environment []string, program string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // the tools that make names
	command.Dir, command.Stderr = r.root, os.Stderr
	command.Env = append(os.Environ(), environment...)
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(program), arguments[0], err)
	}
	return out, nil
}

// discard removes what an earlier run has made, by patterns.
func (r *release) discard(patterns ...string) error {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(r.into, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}
