// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the operator promises about writes, speed and memory, on a real
// API server, and prints the figures with their bars beside them.
//
// It judges nothing by its exit code: figures depend on the machine, and a benchmark that fails
// a build where it should print a number is a flaky test. What depends on time is measured as a
// ratio, against bare writes to the same API server in the same run. It knows the operator from
// outside only: its flags, its objects, and what the API server, the feeds and the services that it
// calls see of it. What summarizes a text is measured by itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// options are what a person can set.
type options struct {
	root    string
	parts   []string
	items   int
	sources int
	short   bool
	profile string
	manager string
}

// part is one group of figures, measured together.
type part struct {
	name    string
	measure func(context.Context, *rig.Plane, options) ([]figure.Row, error)
}

var parts = []part{
	{"writes", measureWrites},
	{"throughput", measureThroughput},
	{"memory", measureMemory},
	{"bombs", measureBombs},
	{"items", measureItems},
	{"polling", measurePolling},
	{"restart", measureRestart},
	{"text", measureText},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	o, err := parse(arguments)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	// The operator's log is written as always, and thrown away.
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))

	began := time.Now()
	plane, err := rig.Start(ctx, rig.Options{Root: o.root, Manager: o.manager, Profiles: o.profile})
	if err != nil {
		return err
	}
	defer plane.Stop(ctx)

	var rows []figure.Row
	for _, part := range parts {
		if !slices.Contains(o.parts, part.name) {
			continue
		}
		measured, err := part.measure(ctx, plane, o)
		if err != nil {
			return fmt.Errorf("measure %s: %w", part.name, err)
		}
		rows = append(rows, measured...)
	}
	if err := figure.Print(os.Stdout, rows); err != nil {
		return err
	}
	if o.short {
		fmt.Println("\nThis was a short run: it shows that everything is measured; the figures mean little.")
	}
	return printMachine(os.Stdout, plane, time.Since(began))
}

func parse(arguments []string) (options, error) {
	names := make([]string, 0, len(parts))
	for _, part := range parts {
		names = append(names, part.name)
	}
	var o options
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringSliceVar(&o.parts, "parts", names, "what to measure")
	flags.IntVar(&o.items, "items", 100_000, "processed items with which memory is measured")
	flags.IntVar(&o.sources, "sources", 10_000, "sources with which polling and a restart are measured")
	flags.BoolVar(&o.short, "short", false, "measure everything at a small size, to see that it works; the figures mean little")
	flags.StringVar(&o.profile, "profile", "", "folder for CPU profiles of the operator at work")
	flags.StringVar(&o.manager, "manager", "", "program whose memory and processor time are measured (default bin/manager, as `make build` makes it)")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	for _, name := range o.parts {
		if !slices.Contains(names, name) {
			return o, fmt.Errorf("no such part: %q (there are %s)", name, strings.Join(names, ", "))
		}
	}
	if o.short && !flags.Changed("items") {
		o.items = 2_000
	}
	if o.short && !flags.Changed("sources") {
		o.sources = 500
	}
	if o.sources < 1 || o.sources > rig.MaxHosts {
		return o, fmt.Errorf("--sources must be between 1 and %d", rig.MaxHosts)
	}
	var err error
	if o.root, err = moduleRoot(); err != nil {
		return o, err
	}
	if o.manager == "" {
		o.manager = filepath.Join(o.root, "bin", "manager")
	}
	return o, nil
}

// moduleRoot is the folder of the checkout.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "hack", "bench")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout of feed-operator", start)
		}
	}
}

func printMachine(out io.Writer, plane *rig.Plane, took time.Duration) error {
	_, err := fmt.Fprintf(out, "\n%d cores (%s/%s), %s, kube-apiserver %s, measured in %s\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), plane.Version, took.Round(time.Second))
	return err
}
