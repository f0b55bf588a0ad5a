// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command scaling works out what so many feeds and items take: of etcd, of the API server, of the network and of the replicas; and which of these limits
// first. It prints the arithmetic with its numbers, as a table that docs/scaling.md has. It asks nobody: what one of each takes was measured (see Costs).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

func run(arguments []string, out io.Writer) error {
	load, costs, limits := Load{}, measured, usual
	const day = 24 * time.Hour
	flags := pflag.NewFlagSet("scaling", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Float64Var(&load.Feeds, "feeds", 1e6, "how many feeds are polled")
	flags.Float64Var(&load.Items, "items", 1e7, "how many new entries all of them have in 30 days")
	flags.DurationVar(&load.Interval, "interval", 15*time.Minute, "how often each is polled")
	flags.DurationVar(&load.Latency, "latency", 500*time.Millisecond, "how long a server takes to answer a poll")
	flags.DurationVar(&load.KeptFor, "processed", 7*day, "for how long a processed item is kept (spec.retention.processed)")
	flags.Float64Var(&load.KeepLast, "keep-last", 20, "how many of each source are kept however old they are (spec.retention.keepLast)")
	flags.Float64Var(&load.Listed, "listed", 20, "how many entries a feed lists")
	flags.DurationVar(&load.Age, "age", 360*day, "how long the operator has run")
	flags.Float64Var(&load.Shards, "shards", 16, "how many shards there are")
	flags.Float64Var(&load.Replicas, "replicas", 4, "how many replicas there are")
	flags.Float64Var(&costs.ItemBytes, "item-bytes", costs.ItemBytes, "what an item takes in etcd")
	flags.Float64Var(&limits.Etcd, "etcd-bytes", limits.Etcd, "how large etcd may be")
	flags.Float64Var(&limits.Writes, "writes", limits.Writes, "how many writes a second the API server takes")
	flags.Float64Var(&limits.Memory, "memory-bytes", limits.Memory, "how much memory a replica may have")
	flags.Float64Var(&limits.Cores, "cores", limits.Cores, "how many cores a replica has")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	for name, value := range map[string]float64{
		"feeds": load.Feeds, "items": load.Items, "interval": load.Interval.Seconds(), "age": load.Age.Seconds(), "shards": load.Shards, "replicas": load.Replicas,
		"etcd-bytes": limits.Etcd, "writes": limits.Writes, "memory-bytes": limits.Memory, "cores": limits.Cores,
	} {
		if value <= 0 {
			return fmt.Errorf("--%s must be more than 0", name)
		}
	}
	needs := Needs(load, costs, limits)
	_, err := fmt.Fprint(out, Table(load, needs))
	return err
}

// Table shows needs as Markdown.
func Table(load Load, needs []Need) string {
	var text strings.Builder
	text.WriteString("| what | how much | of | which is enough for | worked out as |\n|---|---|---|---|---|\n")
	for _, need := range needs {
		fmt.Fprintf(&text, "| %s | %s | %s | %s feeds | %s |\n", need.What, need.Unit.of(need.Value), need.Unit.of(need.Limit),
			count.of(load.Feeds/need.Part()), need.Sum)
	}
	first := First(needs)
	fmt.Fprintf(&text, "\nFirst comes: %s, %s of %s.\n", first.What, first.Unit.of(first.Value), first.Unit.of(first.Limit))
	return text.String()
}
