// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trend draws how many items have ended in each of the last hours.
//
// It knows nothing of items but how many there are.
package trend

import (
	"fmt"
	"time"
)

// The chart in its own units, of which a browser makes as many pixels as there is room.
const (
	chartWidth, chartHeight = 960, 120
	barGap                  = 6
)

// Hours is how far back the chart goes.
const Hours = 24

// Hour is how many of the items that there are have ended in one hour.
type Hour struct{ Processed, Failed int }

// Chart is how many items have ended in each hour, as bars.
type Chart struct {
	Width, Height     int
	Bars              []Bar
	Top               int // what the height stands for
	Processed, Failed int // in all
}

// Bar is one hour.
type Bar struct {
	Hour
	X, Width int
	// Failed items are drawn on top of the processed ones.
	ProcessedY, ProcessedHeight int
	FailedY, FailedHeight       int
	Label                       string
	Tick                        string // below the bar; empty for most
}

// New draws hours, of which the last one is that of now.
func New(hours [Hours]Hour, now time.Time) *Chart {
	c := &Chart{Width: chartWidth, Height: chartHeight, Top: 1}
	for _, hour := range hours {
		c.Top = max(c.Top, hour.Processed+hour.Failed)
		c.Processed += hour.Processed
		c.Failed += hour.Failed
	}
	const step = chartWidth / Hours
	for i, hour := range hours {
		begins := now.Truncate(time.Hour).Add(-time.Duration(Hours-1-i) * time.Hour).UTC()
		height := func(count int) int {
			if count == 0 {
				return 0
			}
			return max(2, count*(chartHeight-4)/c.Top) // one of thousands is seen too
		}
		b := Bar{Hour: hour, X: i*step + barGap/2, Width: step - barGap, ProcessedHeight: height(hour.Processed), FailedHeight: height(hour.Failed)}
		b.ProcessedY = chartHeight - b.ProcessedHeight
		b.FailedY = b.ProcessedY - b.FailedHeight
		b.Label = fmt.Sprintf("%s–%s UTC: %d processed, %d failed", begins.Format("15:04"), begins.Add(time.Hour).Format("15:04"), hour.Processed, hour.Failed)
		if begins.Hour()%6 == 0 {
			b.Tick = begins.Format("15:04")
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}
