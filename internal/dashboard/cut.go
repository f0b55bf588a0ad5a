// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/overview"
)

// Cut is what one person may see of a Snapshot: some of its namespaces, and nothing that depends on others.
type Cut struct {
	AsOf   time.Time
	spaces []*space // by name
}

// cut returns what of a snapshot is in the namespaces that may be seen.
func (s *Snapshot) cut(sees func(namespace string) bool) Cut {
	c := Cut{AsOf: s.AsOf}
	for _, name := range s.names {
		if sees(name) {
			c.spaces = append(c.spaces, s.spaces[name])
		}
	}
	return c
}

// Version differs where anything that the person may see does.
func (c Cut) Version() string {
	var sum uint64
	for _, in := range c.spaces {
		sum = sum*31 + in.version
	}
	return strconv.FormatUint(sum, 36)
}

// Namespaces are those that are seen.
func (c Cut) Namespaces() []string {
	names := make([]string, 0, len(c.spaces))
	for _, in := range c.spaces {
		names = append(names, in.name)
	}
	return names
}

// Counts are the items by phase.
func (c Cut) Counts() (all v1alpha1.ItemCounts) {
	for _, in := range c.spaces {
		all.Unprocessed += in.counts.Unprocessed
		all.Pending += in.counts.Pending
		all.Deferred += in.counts.Deferred
		all.Processed += in.counts.Processed
		all.Failed += in.counts.Failed
	}
	return all
}

// Trend is how many items have ended in each of the last hours, the current one last.
func (c Cut) Trend() (all [Hours]Hour) {
	for _, in := range c.spaces {
		for i := range in.hours {
			all[i].Processed += in.hours[i].Processed
			all[i].Failed += in.hours[i].Failed
		}
	}
	return all
}

// Sources are the FeedSources of all namespaces that are seen.
func (c Cut) Sources() []Source { return gather(c, func(in *space) []Source { return in.sources }) }

// Providers are the AIProviders.
func (c Cut) Providers() []Service {
	return gather(c, func(in *space) []Service { return in.providers })
}

// Destinations are the FeedDestinations.
func (c Cut) Destinations() []Service {
	return gather(c, func(in *space) []Service { return in.destinations })
}

func gather[T any](c Cut, of func(*space) []T) (all []T) {
	if len(c.spaces) == 1 {
		return of(c.spaces[0])
	}
	for _, in := range c.spaces {
		all = append(all, of(in)...)
	}
	return all
}

// Recent are the items that were worked on last.
func (c Cut) Recent(most int) []Item {
	var found []*Item
	for _, in := range c.spaces {
		for _, of := range in.parts {
			for i := range min(most, len(of.items)) {
				found = append(found, &of.items[i])
			}
		}
	}
	return firstOf(found, most)
}

// firstOf are the items that were worked on last.
func firstOf(items []*Item, most int) []Item {
	slices.SortFunc(items, newer)
	first := make([]Item, 0, min(most, len(items)))
	for _, item := range items[:min(most, len(items))] {
		first = append(first, *item)
	}
	return first
}

// Source returns one source.
func (c Cut) Source(namespace, name string) (Source, bool) {
	for _, in := range c.spaces {
		if in.name == namespace {
			at := slices.IndexFunc(in.sources, func(of Source) bool { return of.Name == name })
			if at >= 0 {
				return in.sources[at], true
			}
		}
	}
	return Source{}, false
}

// Item returns one item.
func (c Cut) Item(namespace, name string) (Item, bool) {
	for _, in := range c.spaces {
		if in.name != namespace {
			continue
		}
		for _, of := range in.parts {
			at := slices.IndexFunc(of.items, func(of Item) bool { return of.Name == name })
			if at >= 0 {
				return of.items[at], true
			}
		}
	}
	return Item{}, false
}

// Needs is what a person has to do something about.
type Needs struct {
	// Uncertain items may have been posted: nobody can say. Dead ones have failed for good otherwise.
	Uncertain, Dead Some[Item]
	// Refused services do not accept their credentials or their configuration.
	Refused Some[Service]
	// Stale sources were not read for long, or cannot go on without a person.
	Stale Some[Source]
}

// Some are the first of All.
type Some[T any] struct {
	First []T
	All   int
}

func (s *Some[T]) add(one T, most int) {
	if s.All++; len(s.First) < most {
		s.First = append(s.First, one)
	}
}

// Any reports whether a person is needed.
func (n Needs) Any() bool { return n.Uncertain.All+n.Dead.All+n.Refused.All+n.Stale.All > 0 }

// Needs are what a person has to do something about, of each sort so many at the most.
func (c Cut) Needs(most int) (needs Needs) {
	for _, service := range slices.Concat(c.Providers(), c.Destinations()) {
		if service.Refused {
			needs.Refused.add(service, most)
		}
	}
	for _, source := range c.Sources() {
		if source.State == overview.SourceStale || source.Stalled && source.State != overview.SourceSuspended {
			needs.Stale.add(source, most)
		}
	}
	var uncertain, dead []*Item
	for _, in := range c.spaces {
		for _, of := range in.parts {
			if of.counts.Failed == 0 {
				continue
			}
			for i := range of.items {
				switch item := &of.items[i]; {
				case item.Phase != v1alpha1.PhaseFailed:
				case item.Reason == v1alpha1.ReasonDeliveryUncertain:
					uncertain = append(uncertain, item)
				default:
					dead = append(dead, item)
				}
			}
		}
	}
	needs.Uncertain = Some[Item]{First: firstOf(uncertain, most), All: len(uncertain)}
	needs.Dead = Some[Item]{First: firstOf(dead, most), All: len(dead)}
	return needs
}

// Query says which items a list shows. Each part that is empty lets all pass.
type Query struct {
	Text, Namespace, Source string
	Phase                   v1alpha1.Phase
	Reason                  v1alpha1.Reason
	Page                    int // from 1 on
}

// pageItems is how many items a page of a list shows.
const pageItems = 50

// Found is one page of a list.
type Found struct {
	Items        []Item
	All          int
	Page, Pages  int
	First, Last  int // their numbers, from 1 on
	Before, Next int // the pages, 0 for none
}

// Find lists the items for which somebody looks, those that were worked on last first.
func (c Cut) Find(query Query) Found {
	words := strings.Fields(strings.ToLower(query.Text))
	var matching []*Item
	for _, in := range c.spaces {
		if query.Namespace != "" && query.Namespace != in.name {
			continue
		}
		for _, of := range in.parts {
			for i := range of.items {
				if query.matches(&of.items[i], words) {
					matching = append(matching, &of.items[i])
				}
			}
		}
	}
	slices.SortFunc(matching, newer)
	found := Found{All: len(matching), Pages: max(1, (len(matching)+pageItems-1)/pageItems)}
	found.Page = min(max(query.Page, 1), found.Pages)
	from := (found.Page - 1) * pageItems
	for _, item := range matching[from:min(from+pageItems, len(matching))] {
		found.Items = append(found.Items, *item)
	}
	found.First, found.Last = from+1, from+len(found.Items)
	if found.Page > 1 {
		found.Before = found.Page - 1
	}
	if found.Page < found.Pages {
		found.Next = found.Page + 1
	}
	return found
}

func (q Query) matches(item *Item, words []string) bool {
	if q.Phase != "" && q.Phase != item.Phase || q.Source != "" && q.Source != item.Source || q.Reason != "" && q.Reason != item.Reason {
		return false
	}
	if len(words) == 0 {
		return true
	}
	title := strings.ToLower(item.Title)
	for _, word := range words {
		if !strings.Contains(title, word) && !strings.Contains(item.Name, word) {
			return false
		}
	}
	return true
}
