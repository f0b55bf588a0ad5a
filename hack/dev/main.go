// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dev runs what a developer needs on one machine: the binaries of a Kubernetes control
// plane, a control plane, and the operator on it with sample feeds.
//
//	dev binaries   fetch or build the control plane, print the folder
//	dev cluster    run a control plane until Ctrl-C; its data stays
//	dev run        run the operator on a new control plane, with sample sources, until Ctrl-C
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/feed-operator/feed-operator/hack/dev/controlplane"
)

const usage = `Usage: dev binaries | cluster | run [flags]

  binaries   fetch or build the programs of a control plane, and print the folder they are in
  cluster    run a control plane until Ctrl-C; its data is kept for the next time
  run        run the operator on a new control plane, with sample sources, until Ctrl-C

Flags:
`

// options are the flags; every command takes those it needs.
type options struct {
	root           string
	dir            string
	binaries       string
	build          bool
	stopWithParent bool
	run            runOptions
}

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func command(arguments []string) error {
	var o options
	o.run.environment = takeEnvironment()
	flags := pflag.NewFlagSet("dev", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.dir, "dir", ".dev", "folder for data, logs and the kubeconfig")
	flags.StringVar(&o.binaries, "binaries", filepath.Join("bin", "k8s"), "folder for the programs of control planes")
	flags.BoolVar(&o.build, "build", false, "build the programs of the control plane without looking for releases")
	flags.BoolVar(&o.stopWithParent, "stop-with-parent", true, "stop when the process that started this one is gone")
	flags.BoolVar(&o.run.once, "once", false, "run: stop when all items are done, and fail if they do not get there")
	flags.StringSliceVar(&o.run.sources, "source", nil, "run: a manifest to apply instead of the samples (repeatable)")
	flags.StringVar(&o.run.manager, "manager", filepath.Join("bin", "manager"), "run: the operator's program")
	flags.DurationVar(&o.run.limit, "limit", 5*time.Minute, "run: how long --once waits")
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage, flags.FlagUsages()) }
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	root, err := repository()
	if err != nil {
		return err
	}
	o.root = root

	ctx, patience := untilStopped(o.stopWithParent)
	switch flags.Arg(0) {
	case "binaries":
		return o.printBinaries(ctx)
	case "cluster":
		return o.runCluster(ctx, patience)
	case "run":
		return o.runOperator(ctx, patience)
	}
	flags.Usage()
	return fmt.Errorf("no such command: %q", flags.Arg(0))
}

// repository finds the folder of the operator's module, so that the commands work from anywhere in it.
func repository() (string, error) {
	const module = "module github.com/feed-operator/feed-operator\n"
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), module) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout of feed-operator", start)
		}
	}
}

// path makes a path that was given on the command line, or is the default, absolute.
func (o options) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(o.root, path)
}

// untilStopped returns two contexts. The first ends when somebody wants us to stop: Ctrl-C, a
// signal, a closed terminal or pipe, or the end of the process that started us. The second ends
// when they ask again, and want no more waiting.
func untilStopped(stopWithParent bool) (ctx, patience context.Context) {
	ctx, stop := context.WithCancel(context.Background())
	patience, hurry := context.WithCancel(context.Background())

	asked := make(chan os.Signal, 2)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	left := make(chan os.Signal, 1)
	signal.Notify(left, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		for range left {
			stop()
		}
	}()
	go func() {
		<-asked
		stop()
		<-asked
		hurry()
	}()
	if stopWithParent {
		// Linux could signal us, but only for the end of the thread that started us.
		parent := os.Getppid()
		go func() {
			for range time.Tick(500 * time.Millisecond) {
				if os.Getppid() != parent {
					stop()
				}
			}
		}()
	}
	return ctx, patience
}

func (o options) ensureBinaries(ctx context.Context) (controlplane.Binaries, error) {
	origin := controlplane.Anywhere
	if o.build {
		origin = controlplane.ModulesOnly
	}
	return controlplane.Ensure(ctx, filepath.Join(o.root, "hack", "devcluster"), o.path(o.binaries), origin, os.Stderr)
}

func (o options) printBinaries(ctx context.Context) error {
	binaries, err := o.ensureBinaries(ctx)
	if err != nil {
		return err
	}
	fmt.Println(binaries.Dir)
	return nil
}

func (o options) runCluster(ctx, patience context.Context) error {
	binaries, err := o.ensureBinaries(ctx)
	if err != nil {
		return err
	}
	fmt.Println("Starting a control plane …")
	cluster, err := controlplane.Start(ctx, controlplane.Options{Binaries: binaries, Dir: o.path(o.dir), State: "cluster"})
	if err != nil {
		return unlessStopped(ctx, err)
	}
	fmt.Printf(`
The control plane is ready. In another terminal:

  export KUBECONFIG=%s
  %s get namespaces

Its data stays in %s for the next time. Stop it with Ctrl-C.
`, cluster.Kubeconfig(), binaries.Kubectl(), o.dir)

	var failure error
	select {
	case <-ctx.Done():
	case failure = <-cluster.Died():
	}
	fmt.Println("\nStopping … (Ctrl-C again to kill)")
	cluster.Stop(patience)
	return failure
}

// unlessStopped drops an error that comes from having been asked to stop.
func unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}
