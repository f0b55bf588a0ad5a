// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samplefeeds serves three feeds with their pages: press releases in Japanese (RSS 1.0), releases
// and security advisories (Atom), and a status page (JSON Feed). They stand in for the outside
// world on a developer's machine: validators and 304 as a good server gives them, pages with
// navigation and footers around the article, one page in an old encoding, one that appears late.
// Everything in them is invented.
//
// It knows nothing of the operator.
package samplefeeds

import (
	"embed"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// DefaultBase is where the sample sources in config/samples look for the feeds.
const DefaultBase = "http://127.0.0.1:8088"

// lateAnswers is how often a page that appears late answers 503 first.
const lateAnswers = 2

//go:embed content templates
var files embed.FS

// content is a feed as it is written down in the folder content.
type content struct {
	// Entries that are there from the start, newest first.
	Entries []entry `json:"entries"`
	// Reserve holds entries that appear while the feeds are served, in this order.
	Reserve []entry `json:"reserve"`
}

type entry struct {
	Path        string   `json:"path"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Author      string   `json:"author"`
	Categories  []string `json:"categories"`
	Age         string   `json:"age"`
	Encoding    string   `json:"encoding"`
	Late        bool     `json:"late"`
	Inline      bool     `json:"inline"`
	Body        []string `json:"body"`

	// Published and URL follow from when and where the feeds are served.
	Published time.Time `json:"-"`
	URL       string    `json:"-"`
}

// feed is one feed with its entries, newest first.
type feed struct {
	name    string
	file    string
	entries []entry
	reserve []entry
	updated time.Time
}

// Feeds is the state of all feeds: what is published, and what may still appear.
type Feeds struct {
	base string

	mu    sync.Mutex
	feeds []*feed
	// asked counts the requests for pages that appear late.
	asked map[string]int
	// next is the feed that gets the next new entry.
	next int
}

// New prepares the feeds as they are at the given time. base is the URL under which they will be
// served, without a slash at the end.
func New(base string, start time.Time) (*Feeds, error) {
	f := &Feeds{base: base, asked: map[string]int{}}
	for _, file := range []struct{ name, file string }{
		{"press-releases", "feed.rdf"},
		{"advisories", "feed.atom"},
		{"status", "feed.json"},
	} {
		written, err := readContent(file.name)
		if err != nil {
			return nil, err
		}
		loaded := &feed{name: file.name, file: file.file, reserve: written.Reserve, updated: start}
		for _, e := range written.Entries {
			age, err := time.ParseDuration(e.Age)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", e.Path, file.name, err)
			}
			loaded.entries = append(loaded.entries, f.publish(loaded, e, start.Add(-age)))
		}
		f.feeds = append(f.feeds, loaded)
	}
	return f, nil
}

func readContent(name string) (content, error) {
	var read content
	text, err := files.ReadFile("content/" + name + ".yaml")
	if err != nil {
		return read, err
	}
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		return read, fmt.Errorf("read the sample feed %s: %w", name, err)
	}
	return read, nil
}

func (f *Feeds) publish(in *feed, e entry, at time.Time) entry {
	// Feeds carry whole seconds.
	e.Published = at.Truncate(time.Second)
	e.URL = f.base + "/" + in.name + "/" + e.Path
	return e
}

// Initial returns how many entries each feed has at the start, by the URL of the feed.
func (f *Feeds) Initial() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := map[string]int{}
	for _, one := range f.feeds {
		counts[f.base+"/"+one.name+"/"+one.file] = len(one.entries)
	}
	return counts
}

// Publish adds a new entry to one of the feeds, and returns its title; an empty one when nothing
// new is left.
func (f *Feeds) Publish(now time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.feeds {
		in := f.feeds[f.next%len(f.feeds)]
		f.next++
		if len(in.reserve) == 0 {
			continue
		}
		added := f.publish(in, in.reserve[0], now)
		in.reserve = in.reserve[1:]
		in.entries = append([]entry{added}, in.entries...)
		in.updated = now
		return added.Title
	}
	return ""
}
