// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

const (
	// mostForText is how much processor time each of the two may take, in milliseconds, for a text of textSize bytes.
	mostForText = 0.5
	textSize    = 2 << 10
)

// textSamples are articles of about that size. So many characters of each are about as long as a text may be that stands in the place
// of an article, such as a notice to subscribe; longer ones are not searched for such a thing.
var textSamples = []textSample{
	{"English", "en-press-release.txt", 950},
	{"Japanese", "ja-ministry-survey.txt", 480},
}

// Text measures what it takes to summarize a text without a model, and to see that it is an article.
func Text(ctx context.Context, p *rig.Plane, s rig.Scale) (rows []figure.Row, _ error) {
	rounds := s.Of(2_000, 100)
	for _, sample := range textSamples {
		rig.Progress("Summarizing the same %s text %d times …", sample.language, rounds)
		request, err := sample.read(p.Root())
		if err != nil {
			return nil, err
		}
		summarize, err := costOf(rounds, len(request.Text), func() error {
			_, err := extractive.New().Generate(ctx, request)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("summarize %s: %w", sample.file, err)
		}
		beginning := string([]rune(request.Text)[:sample.beginning])
		search, err := costOf(rounds, len(beginning), func() error {
			if stub := article.StubOf(beginning); stub != "" {
				return fmt.Errorf("%s was taken for %s", sample.file, stub)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			inTime(fmt.Sprintf("2 KB of %s, processor time of the built-in summary", sample.language), summarize),
			inTime(fmt.Sprintf("2 KB of %s, search for signs that the article is missing", sample.language), search))
	}
	return rows, nil
}

type textSample struct {
	language, file string
	beginning      int
}

// read returns what the built-in summarizer is asked with that article.
func (t textSample) read(root string) (provider.Request, error) {
	content, err := os.ReadFile(filepath.Join(root, "internal/provider/extractive/testdata/articles", t.file))
	if err != nil {
		return provider.Request{}, err
	}
	parts := strings.SplitN(string(content), "---\n", 3) // title, description, text
	if len(parts) < 3 {
		return provider.Request{}, fmt.Errorf("%s has no text", t.file)
	}
	return provider.Request{Title: strings.TrimSpace(parts[0]), Text: parts[2], MaxCharacters: v1alpha1.DefaultMaxCharacters}, nil
}

func inTime(what string, cost float64) figure.Row {
	return figure.AtMost(what, fmt.Sprintf("%.2f ms", cost), cost, mostForText, " ms")
}

// costOf is the processor time of this process for each round of work on a text of so many bytes, in milliseconds for textSize of them.
func costOf(rounds, size int, work func() error) (float64, error) {
	used := rig.CPUUsed()
	for range rounds {
		if err := work(); err != nil {
			return 0, err
		}
	}
	spent := rig.CPUUsed().Since(used).Self
	return spent.Seconds() * 1000 / float64(rounds) * textSize / float64(size), nil
}
