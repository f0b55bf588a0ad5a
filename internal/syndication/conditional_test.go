// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	finished := launch.Add(time.Hour + time.Minute) // the newer one of two items
	cases := map[string]struct {
		header     func(etag string) []string
		wantStatus int
	}{
		"the same tag":                      {func(etag string) []string { return []string{"If-None-Match", etag} }, 304},
		"made weak by a proxy":              {func(etag string) []string { return []string{"If-None-Match", "W/" + etag} }, 304},
		"one of several":                    {func(etag string) []string { return []string{"If-None-Match", `"other", ` + etag} }, 304},
		"in a second header line":           {func(etag string) []string { return []string{"If-None-Match", `"other"`, "If-None-Match", etag} }, 304},
		"any":                               {func(string) []string { return []string{"If-None-Match", "*"} }, 304},
		"another tag":                       {func(string) []string { return []string{"If-None-Match", `"other"`} }, 200},
		"no quotes":                         {func(etag string) []string { return []string{"If-None-Match", etag[1 : len(etag)-1]} }, 200},
		"not modified since":                {func(string) []string { return since(finished) }, 304},
		"not modified, even later":          {func(string) []string { return since(finished.Add(time.Hour)) }, 304},
		"modified a second later":           {func(string) []string { return since(finished.Add(-time.Second)) }, 200},
		"a date that is none":               {func(string) []string { return []string{"If-Modified-Since", "yesterday"} }, 200},
		"the tag wins over the date":        {func(string) []string { return append(since(finished), "If-None-Match", `"other"`) }, 200},
		"the tag wins, the other way round": {func(etag string) []string { return append(since(launch), "If-None-Match", etag) }, 304},
	}
	for _, path := range []string{atomPath, jsonPath} {
		for name, c := range cases {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				objects := newStore(2)
				etag := get(t, NewHandler(objects, Options{}), path).Header().Get("ETag")
				objects.reads = 0
				answer := get(t, NewHandler(objects, Options{}), path, c.header(etag)...)
				wantStatus(t, answer, c.wantStatus)
				if got := answer.Header().Get("ETag"); got != etag {
					t.Errorf("ETag %s, want %s", got, etag)
				}
				if got, want := answer.Header().Get("Last-Modified"), finished.Format(http.TimeFormat); got != want {
					t.Errorf("Last-Modified %s, want %s", got, want)
				}
				if answer.Header().Get("Cache-Control") == "" {
					t.Error("Cache-Control is missing")
				}
				if c.wantStatus == 304 && (objects.reads > 0 || answer.Body.Len() > 0) {
					t.Errorf("304 took %d reads and has %d bytes", objects.reads, answer.Body.Len())
				}
			})
		}
	}
}

func since(t time.Time) []string { return []string{"If-Modified-Since", t.Format(http.TimeFormat)} }

func TestTagChangesWithTheFeed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change     func(*store)
		path       string
		options    Options
		header     []string
		wantChange bool
	}{
		"nothing happened":          {},
		"the source was polled":     {change: func(s *store) { s.sources[0].ResourceVersion = "8"; s.sources[0].Status.Items.Pending = 4 }},
		"an item was added":         {change: func(s *store) { s.items = append(s.items, newItem(9)) }, wantChange: true},
		"an item was removed":       {change: func(s *store) { s.items = s.items[1:] }, wantChange: true},
		"an item was changed":       {change: func(s *store) { s.items[1].ResourceVersion = "101" }, wantChange: true},
		"an item was created again": {change: func(s *store) { s.items[1].UID = uid(3, 1) }, wantChange: true},
		"the order changed": {change: func(s *store) {
			s.items[0].Spec.PublishedTime = nil
			s.items[0].CreationTimestamp = s.items[2].CreationTimestamp
		}, wantChange: true},
		"the feed was renamed":                {change: func(s *store) { s.sources[0].Status.Title = "New" }, wantChange: true},
		"the source points to another site":   {change: func(s *store) { s.sources[0].Spec.URL = "https://other.test/" }, wantChange: true},
		"the other format":                    {path: jsonPath, wantChange: true},
		"another host, thus other self links": {header: []string{"Host", "other.test"}, wantChange: true},
		"a base URL, thus other self links":   {options: Options{BaseURL: &url.URL{Scheme: "https", Host: "feeds.example.org"}}, wantChange: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := newStore(3)
			before := get(t, NewHandler(objects, Options{}), atomPath)
			if c.change != nil {
				c.change(objects)
			}
			path := atomPath
			if c.path != "" {
				path = c.path
			}
			after := get(t, NewHandler(objects, c.options), path, c.header...)
			wantStatus(t, after, 200)
			changed := before.Header().Get("ETag") != after.Header().Get("ETag")
			if changed != c.wantChange {
				t.Errorf("changed: %t, want %t", changed, c.wantChange)
			}
			if !changed && before.Body.String() != after.Body.String() {
				t.Error("one tag stands for two different feeds")
			}
		})
	}
}
