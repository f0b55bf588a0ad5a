// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-feed is `kubectl feed`: it shows what would become of a feed, carries subscriptions in and
// out, and reports how all is going.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/feed-operator/feed-operator/internal/pdftext"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/terminal"
)

// version is set when a release is built.
var version = "devel"

// The ways in which the program ends.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	pdftext.Main() // the plugin is also the process that reads PDF documents for its previews
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func run(ctx context.Context, args []string, in io.Reader, out, complain io.Writer) int {
	// Whatever is written goes through this, also the errors of the libraries.
	out, complain = masked{to: out}, masked{to: complain, plain: true}
	command := newCommand() //nolint:contextcheck // the commands get it from cobra
	command.SetArgs(args)
	command.SetIn(in)
	command.SetOut(out)
	command.SetErr(complain)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(complain, "Error: "+redact.Log(err.Error()))
	if _, mistaken := errors.AsType[usageError](err); mistaken {
		_, _ = fmt.Fprintln(complain, "See 'kubectl feed --help'.")
		return exitUsage
	}
	return exitFailed
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-feed",
		Short: "Preview feeds, import and export subscriptions, show the status, save all and restore it",
		Long: `Preview feeds, import and export subscriptions, show the status, save all and restore it.

The exit status is 0 on success, 1 when something could not be done, such as a feed that
cannot be read, and 2 when the command line is wrong.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl feed"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no command %q", args[0])}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cluster := newCluster(root.PersistentFlags())
	root.AddCommand(newPreview(cluster), newImport(cluster), newExport(cluster), newStatus(cluster), newRetry(cluster), newPoll(cluster),
		newBackup(cluster), newRestore(cluster), newResume(cluster))
	return root
}

// arguments has the number of arguments checked as a part of the usage.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// masked hides the secrets that this process knows of in whatever is written.
type masked struct {
	to io.Writer
	// plain is set where only people read: names and errors have what others wrote in them, and a terminal obeys none of it.
	plain bool
}

func (m masked) Write(text []byte) (int, error) {
	shown := redact.Known(string(text))
	if m.plain {
		shown = terminal.Plain(shown)
	}
	if _, err := io.WriteString(m.to, shown); err != nil {
		return 0, err
	}
	return len(text), nil
}
