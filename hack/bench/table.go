// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// row is one figure.
type row struct {
	what, figure string
	// bar that the figure is held against, and whether it holds; without a bar, the figure is for
	// information.
	bar   string
	holds bool
}

// atMost is a figure that must not be above a bar.
func atMost(what, figure string, value, most float64, unit string) row {
	return row{what: what, figure: figure, bar: fmt.Sprintf("≤ %g%s", most, unit), holds: value <= most}
}

// atLeast is a figure that must not be below a bar.
func atLeast(what, figure string, value, least float64) row {
	return row{what: what, figure: figure, bar: fmt.Sprintf("≥ %g", least), holds: value >= least}
}

// note is a figure without a bar.
func note(what, format string, values ...any) row {
	return row{what: "  " + what, figure: fmt.Sprintf(format, values...)}
}

func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "\nwhat\tfigure\tbar\tholds?\n")
	for _, r := range rows {
		verdict := ""
		switch {
		case r.bar != "" && r.holds:
			verdict = "yes"
		case r.bar != "":
			verdict = "NO"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.what, r.figure, r.bar, verdict)
	}
	return table.Flush()
}

func printMachine(out io.Writer, plane *plane, took time.Duration) error {
	_, err := fmt.Fprintf(out, "\n%d cores (%s/%s), %s, kube-apiserver %s, measured in %s\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), plane.version, took.Round(time.Second))
	return err
}

// median of some figures; of an even number, the lower one of the middle.
func median[T int | float64 | time.Duration](figures []T) T {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[(len(sorted)-1)/2]
}
