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

	"github.com/feed-operator/feed-operator/hack/bench/crowds"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/items"
	"github.com/feed-operator/feed-operator/hack/bench/replicas"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// options are what a person can set.
type options struct {
	parts []string
	rig   rig.Options
	scale rig.Scale
}

// part is one group of figures, measured together.
type part struct {
	name    string
	measure func(context.Context, *rig.Plane, rig.Scale) ([]figure.Row, error)
	// missing is shown in place of figures that Linux alone can give where this is not Linux; nil where all can.
	missing []figure.Row
}

const (
	needsLinux     = "not measured: it needs Linux"
	needsAddresses = needsLinux + ", where all of 127.0.0.0/8 is this machine"
)

var parts = []part{
	{"writes", items.Writes, nil},
	{"throughput", items.Throughput, nil},
	{"memory", items.Memory, []figure.Row{figure.Note("resident memory", needsLinux)}},
	{"bombs", crowds.Bombs, []figure.Row{figure.Note("resident memory while all bombs come at once", needsLinux)}},
	{"items", items.Computation, []figure.Row{figure.Note("processor time of an item", needsLinux)}},
	{"polling", crowds.Polling, []figure.Row{figure.Note("polls of unchanged feeds", needsAddresses)}},
	{"restart", crowds.Restart, []figure.Row{figure.Note("polls after a restart", needsAddresses)}},
	{"text", items.Text, nil},
	{"page", items.Page, []figure.Row{figure.Note("what the web page costs", needsLinux)}},
	{"batches", items.Batches, []figure.Row{figure.Note("batches of a webhook", needsLinux)}},
	{"replicas", replicas.HandOver, []figure.Row{figure.Note("hand-over from one replica to another", needsLinux)}},
	{"load", replicas.UnderLoad, []figure.Row{figure.Note("hand-over in the midst of a thousand items", needsLinux)}},
	{"shards", replicas.Shards, []figure.Row{figure.Note("replicas with shards", needsLinux)}},
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
	rows, measured, failed := measure(ctx, o)
	if err := figure.Print(os.Stdout, rows); err != nil {
		return err
	}
	if o.scale.Short {
		fmt.Println("\nThis was a short run: it shows that everything is measured; the figures mean little.")
	}
	return errors.Join(failed, printMachine(os.Stdout, &measured, time.Since(began)))
}

// measure returns the figures of the parts that are wanted. Where one fails, or is interrupted, those that were measured before are returned too: they
// have taken minutes. Each part has a control plane of its own: what one leaves behind, such as a hundred thousand items, is not measured with the next.
func measure(ctx context.Context, o options) (rows []figure.Row, on rig.Measured, _ error) {
	for _, part := range parts {
		if !slices.Contains(o.parts, part.name) {
			continue
		}
		if part.missing != nil && runtime.GOOS != "linux" {
			rows = append(rows, part.missing...)
			continue
		}
		measured, err := onPlane(ctx, part, o, &on)
		rows = append(rows, measured...)
		if err != nil {
			return rows, on, fmt.Errorf("measure %s: %w", part.name, err)
		}
	}
	return rows, on, nil
}

// onPlane measures a part on a control plane of its own.
func onPlane(ctx context.Context, part part, o options, on *rig.Measured) ([]figure.Row, error) {
	plane, err := rig.Start(ctx, o.rig)
	if err != nil {
		return nil, err
	}
	defer plane.Stop(ctx)
	rows, err := part.measure(ctx, plane, o.scale)
	on.Add(plane)
	return rows, err
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
	flags.IntVar(&o.scale.Items, "items", 100_000, "processed items with which memory is measured")
	flags.IntVar(&o.scale.Sources, "sources", 10_000, "sources with which polling and a restart are measured")
	flags.BoolVar(&o.scale.Short, "short", false, "measure everything at a small size, to see that it works; the figures mean little")
	flags.BoolVar(&o.rig.Observed, "observed", true, "scrape the metrics, take the traces and have the page open meanwhile, as where the operator is run")
	flags.StringVar(&o.rig.Profiles, "profile", "", "folder for CPU profiles of the operator at work")
	flags.StringVar(&o.rig.Manager, "manager", "", "program whose memory and processor time are measured (default bin/manager, as `make build` makes it)")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	for _, name := range o.parts {
		if !slices.Contains(names, name) {
			return o, fmt.Errorf("no such part: %q (there are %s)", name, strings.Join(names, ", "))
		}
	}
	if o.scale.Short && !flags.Changed("items") {
		o.scale.Items = 2_000
	}
	if o.scale.Short && !flags.Changed("sources") {
		o.scale.Sources = 500
	}
	if o.scale.Sources < 1 || o.scale.Sources > rig.MaxHosts {
		return o, fmt.Errorf("--sources must be between 1 and %d", rig.MaxHosts)
	}
	var err error
	if o.rig.Root, err = moduleRoot(); err != nil {
		return o, err
	}
	if o.rig.Manager == "" {
		o.rig.Manager = filepath.Join(o.rig.Root, "bin", "manager")
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

func printMachine(out io.Writer, on *rig.Measured, took time.Duration) error {
	_, err := fmt.Fprintf(out, "\n%d cores (%s/%s), %s, kube-apiserver %s, measured in %s; %s\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), on.Version, took.Round(time.Second), on.Observed())
	return err
}
