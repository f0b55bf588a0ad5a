// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"strings"
)

// gap is the space between two columns.
const gap = "   "

// Table writes rows of which the columns stand below each other, also where characters are wide. What is
// in a cell is made plain, on one line, and cut where it is wider than longest; the last column is left as
// wide as it is.
func Table(to io.Writer, longest int, rows ...[]string) error {
	var widths []int
	plain := make([][]string, 0, len(rows))
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for column, cell := range row {
			cell = Line(cell)
			if column < len(row)-1 {
				cell = Clip(cell, longest)
			}
			if column == len(widths) {
				widths = append(widths, 0)
			}
			widths[column] = max(widths[column], Width(cell))
			cells = append(cells, cell)
		}
		plain = append(plain, cells)
	}
	for _, cells := range plain {
		var line strings.Builder
		for column, cell := range cells {
			line.WriteString(cell)
			if column < len(cells)-1 {
				line.WriteString(strings.Repeat(" ", widths[column]-Width(cell)) + gap)
			}
		}
		if _, err := fmt.Fprintln(to, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
