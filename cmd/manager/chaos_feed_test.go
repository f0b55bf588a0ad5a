// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"slices"
	"strings"
)

// Feeds of a town. What plain lists is summarized by the built-in summarizer; what written lists by a model.
const (
	plain   = "plain"
	written = "written"
)

var feedNames = []string{plain, written}

// mostStories is how many stories a feed lists in all, so that a machine with other work has time for them.
const mostStories = 40

// fewestStories is how many a feed lists at least. Of a document with nothing but one story in it twice nobody can say that it is one story.
const fewestStories = 3

// story is what a feed tells, however it lists it: one item, and one post at each account.
type story struct {
	name string
	// spoiled is set if the model refuses to write about it.
	spoiled bool
	// anonymous is set if it is listed without a GUID.
	anonymous bool
	// edition counts the changes of its text, and guid and link those of what identifies it.
	edition, guid, link int
	// listed means that the feed lists it now, and twice that it does so twice.
	listed, twice bool
}

// draft is a feed while the plan is drawn.
type draft struct {
	name    string
	stories []*story
}

// listing is one entry of a feed, without the address of the server that it leads to.
type listing struct{ guid, path, title, content string }

// add begins so many new stories, and returns their names.
func (d *draft) add(n int) string {
	var names []string
	for range n {
		number := len(d.stories) + 1
		const every = 5 // story of what is written is refused
		one := &story{
			name: fmt.Sprintf("%s-%d", d.name, number), listed: true, anonymous: number%4 == 0,
			spoiled: d.name == written && number%every == 3,
		}
		d.stories = append(d.stories, one)
		names = append(names, one.name)
	}
	return strings.Join(names, ", ")
}

// listed counts the stories that are listed.
func (d *draft) listed() int {
	count := 0
	for _, one := range d.stories {
		if one.listed {
			count++
		}
	}
	return count
}

// relistAll lists all that there ever was.
func (d *draft) relistAll() {
	for _, one := range d.stories {
		one.listed = true
	}
}

// document is what the feed lists, the newest first.
func (d *draft) document() []listing {
	var entries []listing
	for _, one := range d.stories {
		if !one.listed {
			continue
		}
		entries = append(entries, one.listing(one.edition))
		if one.twice {
			again := one.edition
			if !one.anonymous { // two titles at one link, and nothing else, would be two stories
				again += 100
			}
			entries = append(entries, one.listing(again))
		}
	}
	slices.Reverse(entries)
	return entries
}

func (s *story) listing(edition int) listing {
	entry := listing{guid: "tag:" + s.name, path: "/articles/" + s.name, title: "News about " + s.name}
	if s.spoiled {
		entry.title = "Spoiled news about " + s.name
	}
	if edition > 0 {
		entry.title += fmt.Sprintf(", edition %d", edition)
		entry.content = fmt.Sprintf("Corrected %d times.", edition)
	}
	if s.guid > 0 {
		entry.guid += fmt.Sprintf("/%d", s.guid)
	}
	if s.link > 0 {
		entry.path += fmt.Sprintf("?utm_source=list-%d", s.link)
	}
	if s.anonymous {
		entry.guid = ""
	}
	return entry
}
