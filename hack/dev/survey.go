// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// survey is what there is to see at one moment.
type survey struct {
	sources []v1alpha1.FeedSource
	items   []v1alpha1.FeedItem
	// initial is how many entries each sample feed has, by URL.
	initial map[string]int
	// samples is set when the items of the sample sources are known, and all of them must be processed.
	samples bool
}

func (w *world) survey(ctx context.Context, names []client.ObjectKey) (*survey, error) {
	s := &survey{initial: w.feeds.Initial(), samples: len(w.options.run.sources) == 0}
	for _, name := range names {
		var source v1alpha1.FeedSource
		if err := w.client.Get(ctx, name, &source); err != nil {
			return nil, err
		}
		s.sources = append(s.sources, source)
	}
	var items v1alpha1.FeedItemList
	err := w.client.List(ctx, &items)
	s.items = items.Items
	return s, err
}

// unfinished lists sources that were not polled well, and items that are not done.
func (s *survey) unfinished() []string {
	var unfinished []string
	for i := range s.sources {
		source := &s.sources[i]
		items := 0
		for j := range s.items {
			if s.items[j].Namespace == source.Namespace && s.items[j].Spec.SourceRef.Name == source.Name {
				items++
			}
		}
		ready := apimeta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case ready == nil:
			unfinished = append(unfinished, fmt.Sprintf("source %s has not been polled", source.Name))
		case ready.Status != "True":
			unfinished = append(unfinished, fmt.Sprintf("source %s is not ready: %s", source.Name, ready.Message))
		case s.samples && items != min(s.initial[source.Spec.URL], source.InitialItems()):
			unfinished = append(unfinished, fmt.Sprintf("source %s has %d items, and should have %d",
				source.Name, items, min(s.initial[source.Spec.URL], source.InitialItems())))
		}
	}
	for i := range s.items {
		item := &s.items[i]
		if item.Status.Phase != v1alpha1.PhaseProcessed && item.Status.Phase != v1alpha1.PhaseFailed {
			unfinished = append(unfinished, describe(item))
		}
	}
	return unfinished
}

// outcome reports in a few lines what has become of all items. It fails where one of the samples was not processed.
func (s *survey) outcome(out io.Writer) error {
	phases, writers, posted := map[v1alpha1.Phase]int{}, map[string]int{}, 0
	var failed []string
	for i := range s.items {
		item := &s.items[i]
		phases[item.Status.Phase]++
		if item.Status.Phase == v1alpha1.PhaseFailed {
			failed = append(failed, describe(item))
		}
		if item.Status.Summary != nil {
			writers[item.Status.Summary.Provider]++
		}
		if slices.ContainsFunc(item.Status.Deliveries, func(row v1alpha1.Delivery) bool { return row.State == v1alpha1.DeliveryDone }) {
			posted++
		}
	}
	wrote := make([]string, 0, len(writers))
	for _, name := range slices.Sorted(maps.Keys(writers)) {
		wrote = append(wrote, fmt.Sprintf("%s %d", name, writers[name]))
	}
	_, _ = fmt.Fprintf(out, "\nAll %d items are finished: %d processed, %d failed. %d are posted.\n",
		len(s.items), phases[v1alpha1.PhaseProcessed], phases[v1alpha1.PhaseFailed], posted)
	if len(wrote) > 0 {
		_, _ = fmt.Fprintf(out, "Summaries by %s.\n", strings.Join(wrote, ", "))
	}
	if len(failed) == 0 {
		return nil
	}
	words := "these items failed:\n  " + strings.Join(failed, "\n  ")
	if s.samples {
		return errors.New(words)
	}
	_, _ = fmt.Fprintln(out, strings.ToUpper(words[:1])+words[1:])
	return nil
}

func describe(item *v1alpha1.FeedItem) string {
	text := fmt.Sprintf("%s of %s (%s) is %s", item.Name, item.Spec.SourceRef.Name, item.Spec.Title, item.Status.Phase)
	if item.Status.Reason != "" {
		text += ", " + string(item.Status.Reason)
	}
	if why := whyItem(item); why != "" {
		text += ": " + why
	}
	return text
}
