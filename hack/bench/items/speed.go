// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// speed is how one run went.
type speed struct {
	// rate is in items a second.
	rate float64
	// own and server are the CPU time for one item of the writer, and of the API server with its
	// storage. Other work on the machine does not change them much.
	own, server time.Duration
}

func measureSpeed(items int, work func() error) (speed, error) {
	start, used := time.Now(), rig.CPUUsed()
	if err := work(); err != nil {
		return speed{}, err
	}
	took, cpu := time.Since(start), rig.CPUUsed().Since(used)
	return speed{
		rate:   float64(items) / took.Seconds(),
		own:    cpu.Self / time.Duration(items),
		server: cpu.Server / time.Duration(items),
	}, nil
}

// speeds are those of several rounds.
type speeds []speed

func (s speeds) figures(of func(speed) float64) []float64 {
	figures := make([]float64, 0, len(s))
	for _, run := range s {
		figures = append(figures, of(run))
	}
	return figures
}

func (s speeds) median(of func(speed) float64) float64 { return figure.Median(s.figures(of)) }

func (s speeds) ratio(base speeds, of func(speed) float64) float64 {
	return figure.Ratio(s.figures(of), base.figures(of))
}

func (s speeds) String() string {
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "%.0f items/s", s.median(func(s speed) float64 { return s.rate }))
	if len(s) > 1 {
		rates := make([]string, 0, len(s))
		for _, run := range s {
			rates = append(rates, strconv.Itoa(int(run.rate)))
		}
		_, _ = fmt.Fprintf(&text, " (of %s)", strings.Join(rates, ", "))
	}
	own := s.median(func(s speed) float64 { return s.own.Seconds() * 1000 })
	server := s.median(func(s speed) float64 { return s.server.Seconds() * 1000 })
	_, _ = fmt.Fprintf(&text, ", CPU an item: %.1f ms, server %.1f ms", own, server)
	return text.String()
}
