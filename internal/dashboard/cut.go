// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/paged"
	"github.com/feed-operator/feed-operator/internal/dashboard/trend"
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

// within are the namespaces of a name; all for none.
func (c Cut) within(name string) []*space {
	if name == "" {
		return c.spaces
	}
	at, found := slices.BinarySearchFunc(c.spaces, name, func(in *space, name string) int { return strings.Compare(in.name, name) })
	if !found {
		return nil
	}
	return c.spaces[at : at+1]
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
func (c Cut) Trend() (all [trend.Hours]trend.Hour) {
	for _, in := range c.spaces {
		for i := range in.hours {
			all[i].Processed += in.hours[i].Processed
			all[i].Failed += in.hours[i].Failed
		}
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
	for _, in := range c.within(namespace) {
		at := slices.IndexFunc(in.sources, func(of Source) bool { return of.Name == name })
		if at >= 0 {
			return in.sources[at], true
		}
	}
	return Source{}, false
}

// Item returns one item.
func (c Cut) Item(namespace, name string) (Item, bool) {
	for _, in := range c.within(namespace) {
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
	Uncertain, Dead Some[*Item]
	// Refused services do not accept their credentials or their configuration.
	Refused Some[*Service]
	// Stale sources were not read for long, or cannot go on without a person.
	Stale Some[*Source]
}

// Some are the first of All.
type Some[T any] struct {
	First []T
	All   int
}

// Any reports whether a person is needed.
func (n Needs) Any() bool { return n.Uncertain.All+n.Dead.All+n.Refused.All+n.Stale.All > 0 }

// Needs are what a person has to do something about, of each sort so many at the most.
func (c Cut) Needs(most int) Needs {
	n := len(c.spaces)
	uncertain, dead, refused, stale := make([][]*Item, n), make([][]*Item, n), make([][]*Service, n), make([][]*Source, n)
	for i, in := range c.spaces {
		uncertain[i], dead[i] = in.failed()
		refused[i] = slices.Concat(those(in.providers, Service.isRefused), those(in.destinations, Service.isRefused))
		stale[i] = those(in.sources, Source.NeedsPerson)
	}
	needs := Needs{Uncertain: newestInTurn(uncertain, most), Dead: newestInTurn(dead, most), Refused: firstInTurn(refused, most), Stale: firstInTurn(stale, most)}
	slices.SortFunc(needs.Uncertain.First, newer)
	slices.SortFunc(needs.Dead.First, newer)
	return needs
}

// failed are the items that have failed for good, those of each source that were worked on last first, and the sources in turn, so that one that fails
// much hides nothing of another: of which nobody can say whether they were posted, and the others.
func (in *space) failed() (uncertain, dead []*Item) {
	var uncertainOf, deadOf [][]*Item
	for _, of := range in.parts {
		if of.counts.Failed > 0 {
			uncertain, dead := of.failed()
			uncertainOf, deadOf = append(uncertainOf, uncertain), append(deadOf, dead)
		}
	}
	return paged.InTurn(byNewest(uncertainOf)), paged.InTurn(byNewest(deadOf))
}

// failed are those of one source, in the order in which they are kept.
func (of *part) failed() (uncertain, dead []*Item) {
	for i := range of.items {
		switch item := &of.items[i]; {
		case item.Phase != v1alpha1.PhaseFailed:
		case item.Reason == v1alpha1.ReasonDeliveryUncertain:
			uncertain = append(uncertain, item)
		default:
			dead = append(dead, item)
		}
	}
	return uncertain, dead
}

func those[T any](all []T, are func(T) bool) (some []*T) {
	for i := range all {
		if are(all[i]) {
			some = append(some, &all[i])
		}
	}
	return some
}

// byNewest orders lists of items by how new the first one of each is. The lists are ordered in that way themselves.
func byNewest(lists [][]*Item) [][]*Item {
	lists = slices.DeleteFunc(lists, func(of []*Item) bool { return len(of) == 0 })
	slices.SortFunc(lists, func(a, b []*Item) int { return newer(a[0], b[0]) })
	return lists
}

// newestInTurn are the first ones of all namespaces in turn, of as many as there is room for: those in which something was worked on last.
func newestInTurn(namespaces [][]*Item, most int) Some[*Item] {
	return firstInTurn(byNewest(namespaces), most)
}

func firstInTurn[T any](namespaces [][]T, most int) Some[T] {
	all := paged.InTurn(namespaces)
	return Some[T]{First: all[:min(most, len(all))], All: len(all)}
}

// Query says which rows a list shows. Each part that is empty lets all pass.
type Query struct {
	Text, Namespace, Source string
	Phase                   v1alpha1.Phase
	Reason                  v1alpha1.Reason
	Page                    int // from 1 on
}

// Find lists the items for which somebody looks, those that were worked on last first.
func (c Cut) Find(query Query) paged.Page[*Item] {
	words := strings.Fields(strings.ToLower(query.Text))
	var matching []*Item
	for _, in := range c.within(query.Namespace) {
		for _, of := range in.parts {
			for i := range of.items {
				if query.matches(&of.items[i], words) {
					matching = append(matching, &of.items[i])
				}
			}
		}
	}
	slices.SortFunc(matching, newer)
	return paged.Of(matching, query.Page)
}

// FindSources lists the sources for which somebody looks, those first that need a person.
func (c Cut) FindSources(query Query) paged.Page[*Source] {
	return find(c, query, func(in *space) []Source { return in.sources }, Source.words, Source.NeedsPerson)
}

// FindServices lists providers or destinations, those first that need a person, and then those that do not work.
func (c Cut) FindServices(query Query, of func(*space) []Service) paged.Page[*Service] {
	return find(c, query, of, Service.words, Service.isRefused, func(s Service) bool { return !s.Well })
}

// find lists what is in the namespaces for which somebody looks, and has the words that they look for. What has one of the marks comes before what has not,
// of each namespace in turn, so that one in which much is wrong hides nothing of the others, and within it the first mark before the next one. Else it is by
// namespace and name.
func find[T any](c Cut, query Query, of func(*space) []T, wordsOf func(T) string, marks ...func(T) bool) paged.Page[*T] {
	words := strings.Fields(strings.ToLower(query.Text))
	within := c.within(query.Namespace)
	marked, others := make([][]*T, len(within)), []*T(nil)
	for i, in := range within {
		rows, here := of(in), make([][]*T, len(marks))
		for j := range rows {
			if len(words) > 0 && !hasAll(strings.ToLower(wordsOf(rows[j])), words) {
				continue
			}
			rank := slices.IndexFunc(marks, func(has func(T) bool) bool { return has(rows[j]) })
			if rank < 0 {
				others = append(others, &rows[j])
				continue
			}
			here[rank] = append(here[rank], &rows[j])
		}
		marked[i] = slices.Concat(here...)
	}
	return paged.Of(append(paged.InTurn(marked), others...), query.Page)
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// NeedsPerson reports whether a source was not read for long, or cannot go on by itself.
func (s Source) NeedsPerson() bool {
	return s.State == overview.SourceStale || s.Stalled && s.State != overview.SourceSuspended
}

func (s Source) words() string { return s.Name + " " + s.Title + " " + s.Host }

func (s Service) words() string { return s.Name }

func (s Service) isRefused() bool { return s.Refused }

func (q Query) matches(item *Item, words []string) bool {
	if q.Phase != "" && q.Phase != item.Phase || q.Source != "" && q.Source != item.Source || q.Reason != "" && q.Reason != item.Reason {
		return false
	}
	if len(words) == 0 {
		return true
	}
	return hasAll(strings.ToLower(item.Title)+" "+item.Name, words)
}
