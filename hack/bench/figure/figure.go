// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package figure is about what the benchmark prints: figures, each with the bar that it is held against.
//
// It is given numbers. It knows neither what was measured nor how, and never an API server or a clock.
package figure

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Row is one figure.
type Row struct {
	what, figure string
	// bar that the figure is held against, and whether it holds; without a bar, the figure is for
	// information.
	bar   string
	holds bool
}

// AtMost is a figure that must not be above a bar.
func AtMost(what, figure string, value, most float64, unit string) Row {
	return Row{what: what, figure: figure, bar: fmt.Sprintf("≤ %g%s", most, unit), holds: value <= most}
}

// AtLeast is a figure that must not be below a bar.
func AtLeast(what, figure string, value, least float64) Row {
	return Row{what: what, figure: figure, bar: fmt.Sprintf("≥ %g", least), holds: value >= least}
}

// Note is a figure without a bar.
func Note(what, format string, values ...any) Row {
	return Row{what: "  " + what, figure: fmt.Sprintf(format, values...)}
}

// Notes are figures without bars of what was counted, the most first.
func Notes(counts map[string]int) []Row {
	kinds := make([]string, 0, len(counts))
	for what := range counts {
		kinds = append(kinds, what)
	}
	slices.SortFunc(kinds, func(a, b string) int { return counts[b] - counts[a] })
	rows := make([]Row, 0, len(kinds))
	for _, what := range kinds {
		rows = append(rows, Note(what, "%d", counts[what]))
	}
	return rows
}

// WithoutBar is the same figure, for information.
func (r Row) WithoutBar() Row {
	r.bar = ""
	return r
}

// Print prints the figures as a table.
func Print(out io.Writer, rows []Row) error {
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

// Median of some figures; of an even number, the lower one of the middle.
func Median[T int | float64 | time.Duration](figures []T) T {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[(len(sorted)-1)/2]
}

// Ratio is the median of the ratios of some rounds, each to the mean of a base just before and just after it: the base has one more of them.
func Ratio(rounds, base []float64) float64 {
	ratios := make([]float64, 0, len(rounds))
	for i, round := range rounds {
		ratios = append(ratios, 2*round/(base[i]+base[i+1]))
	}
	return Median(ratios)
}

// Megabytes are bytes as the tables show them.
func Megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
