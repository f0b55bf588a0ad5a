// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// surveyProviders adds what is known of the providers, and of the calls that their stand-ins had.
func (w *world) surveyProviders(ctx context.Context, s *survey) error {
	var providers v1alpha1.AIProviderList
	if err := w.client.List(ctx, &providers); err != nil {
		return err
	}
	s.providers, s.asked = providers.Items, map[string]record{}
	for _, model := range w.models {
		for i := range s.providers {
			if endpointOf(&s.providers[i]) == model.endpoint { // a developer may have one of the same name
				s.asked[s.providers[i].Name] = model.rhythm.soFar()
			}
		}
	}
	return nil
}

func endpointOf(provider *v1alpha1.AIProvider) string {
	switch spec := &provider.Spec; {
	case spec.Anthropic != nil:
		return spec.Anthropic.Endpoint
	case spec.OpenAI != nil:
		return spec.OpenAI.Endpoint
	}
	return ""
}

// reportProviders shows how often each provider was called, what came of it, and who stood in for whom,
// where the providers are known.
func reportProviders(out io.Writer, s *survey) {
	if len(s.providers) == 0 {
		return
	}
	wrote := s.wrote()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nPROVIDER\tCALLS\tANSWERED\tFAILED\tSUMMARIES")
	for i := range s.providers {
		provider := &s.providers[i]
		failures := failuresOf(provider)
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%d\n", provider.Name, provider.Status.Calls,
			provider.Status.Calls-total(failures), inWords(failures), wrote[provider.Name])
		delete(wrote, provider.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wrote)) { // the one without an object, whose calls nobody counts
		_, _ = fmt.Fprintf(table, "%s\t\t\t\t%d\n", name, wrote[name])
	}
	_ = table.Flush()

	var handed []string
	for i := range s.items {
		item := &s.items[i]
		if why := s.passedOver(item); why != "" {
			handed = append(handed, fmt.Sprintf("%s: by %s, because %s", item.Spec.Title, item.Status.Summary.Provider, why))
		}
	}
	if len(handed) > 0 {
		_, _ = fmt.Fprintf(out, "\nFallback: %d of %d summaries are not by the first provider of their source.\n  %s\n",
			len(handed), s.summaries(), strings.Join(handed, "\n  "))
	}
}

func failuresOf(provider *v1alpha1.AIProvider) map[v1alpha1.Category]int64 {
	failures := map[v1alpha1.Category]int64{}
	for _, counted := range provider.Status.Failures {
		failures[counted.Category] = counted.Count
	}
	return failures
}

func total(failures map[v1alpha1.Category]int64) int64 {
	var all int64
	for _, count := range failures {
		all += count
	}
	return all
}

func inWords(failures map[v1alpha1.Category]int64) string {
	words := make([]string, 0, len(failures))
	for _, category := range slices.Sorted(maps.Keys(failures)) {
		words = append(words, fmt.Sprintf("%d %s", failures[category], category))
	}
	return strings.Join(words, ", ")
}

// chain is who summarizes an item.
func (s *survey) chain(item *v1alpha1.FeedItem) []string {
	for i := range s.sources {
		if source := &s.sources[i]; source.Namespace == item.Namespace && source.Name == item.Spec.SourceRef.Name {
			return chainOf(source)
		}
	}
	return nil
}

func (s *survey) passedOver(item *v1alpha1.FeedItem) string {
	if item.Status.Summary == nil {
		return ""
	}
	return passedOver(item, s.chain(item))
}

// wrote is how many summaries are by whom.
func (s *survey) wrote() map[string]int64 {
	wrote := map[string]int64{}
	for i := range s.items {
		if summary := s.items[i].Status.Summary; summary != nil {
			wrote[summary.Provider]++
		}
	}
	return wrote
}

func (s *survey) summaries() int64 {
	var all int64
	for _, count := range s.wrote() {
		all += count
	}
	return all
}

// wrongCalls lists what the stand-ins for AI services know better than the operator, calls that came
// while they had asked to be left alone, and summaries that were asked for and are nowhere. It also
// says what of fallback the samples have not shown.
func (s *survey) wrongCalls() []string {
	var wrong []string
	wrote := s.wrote()
	for i := range s.providers {
		provider := &s.providers[i]
		name := provider.Name
		asked, local := s.asked[name]
		if !local {
			continue
		}
		if counted := failuresOf(provider); provider.Status.Calls != asked.calls || !maps.Equal(counted, asked.failures) {
			wrong = append(wrong, fmt.Sprintf("%s was called %d times, and refused %s; but its status counts %d calls, and as failures %s",
				name, asked.calls, cmp.Or(inWords(asked.failures), "none"), provider.Status.Calls, cmp.Or(inWords(counted), "none")))
		}
		if asked.early > 0 {
			wrong = append(wrong, fmt.Sprintf("%s was called %d times while it had asked to be left alone", name, asked.early))
		}
		if s.samples && asked.answered() != wrote[name] {
			wrong = append(wrong, fmt.Sprintf("%s was asked for %d summaries, of which %d are there", name, asked.answered(), wrote[name]))
		}
	}
	return append(wrong, s.notShown()...)
}

// notShown lists what of fallback cannot be seen, though both stand-ins were there to show it.
func (s *survey) notShown() []string {
	claude, here := s.asked[claudeSample]
	gpt, too := s.asked[gptSample]
	if !s.samples || !here || !too {
		return nil
	}
	var missing []string
	if claude.failures[v1alpha1.CategoryRateLimit] == 0 || gpt.failures[v1alpha1.CategoryAPI] == 0 {
		missing = append(missing, "no call was refused: nothing was there to fall back from")
	}
	handed := map[string]bool{}
	for i := range s.items {
		if s.passedOver(&s.items[i]) != "" {
			handed[s.items[i].Status.Summary.Provider] = true
		}
	}
	for _, name := range []string{gptSample, builtInSample} {
		if !handed[name] {
			missing = append(missing, "no summary was taken over by "+name)
		}
	}
	return missing
}
