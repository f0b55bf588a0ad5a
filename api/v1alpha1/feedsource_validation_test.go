// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
)

const (
	mustBeURL      = "url must be a full http:// or https:// URL"
	noCredentials  = "url must not hold a user name or password: put them into a Secret and name it in secretRef"
	headersNeed    = "headers take their values from a Secret: name it in secretRef"
	screeningNeeds = "screening needs an AI provider that can judge: name one in providers or screening.providers (the built-in summarizer cannot)"
	operatorSets   = "this header is set by the operator itself"
	delaysInOrder  = "initialDelay (5m if not set) must not be above maxDelay (24h if not set)"
	keptInOrder    = "keepLast (20 if not set) must not be above keepMost (1000 if not set)"
	headerPattern  = "should match '^[A-Za-z0-9-]+$'"
	feedURL        = "https://www.example.org/feed.xml"
	longestFeedURL = 2048
)

// withSecret lets headers take their values from somewhere.
var withSecret = map[string]any{
	"spec.secretRef.name": "feed-credentials", "spec.headers[].name": "X-Api-Key", "spec.headers[].secretKey": "key",
}

// withProvider lets articles be judged by somebody.
var withProvider = map[string]any{"spec.providers[].name": "gemini"}

// toMastodon is the least that a destination of a source says.
var toMastodon = map[string]any{"spec.destinations[].name": "mastodon"}

// withCriteria is what articles are judged by.
var withCriteria = map[string]any{"spec.screening.criteria": "New rules."}

func header(name, key string) map[string]any { return map[string]any{"name": name, "secretKey": key} }

// anEntryFilter and withFilter are filters that are accepted.
func anEntryFilter(i int) any {
	return map[string]any{"name": fmt.Sprintf("filter-%d", i), "action": "Drop", "expression": "title == ''"}
}

var withFilter = map[string]any{
	"spec.filters[].name": "no-sports", "spec.filters[].action": "Drop", "spec.filters[].expression": "'Sports' in categories",
}

func named(i int) any { return map[string]any{"name": fmt.Sprintf("provider-%d", i)} }

var feedSourceRules = map[string]rule{
	"the URL is one of the web": {kind: "FeedSource", field: "spec.url", valid: []any{
		feedURL, "http://x", "http://www.example.org/feed.xml", "HTTPS://www.example.org", "https://例え.example/配信.rdf",
		"http://10.1.2.3:8080/feed?format=atom", "http://[2001:db8::1]/feed", "https://www.example.org/@someone/feed",
		"https://www.example.org/feed?contact=a@b.example", feedURL + "?" + strings.Repeat("x", longestFeedURL-len(feedURL)-1),
	}, invalid: []refusal{
		{"www.example.org/feed.xml", mustBeURL},
		{"/feeds/news.xml", mustBeURL},
		{"ftp://www.example.org/feed.xml", mustBeURL},
		{"feed://www.example.org/feed.xml", mustBeURL},
		{"file:///etc/passwd", mustBeURL},
		{"https:///feed.xml", mustBeURL},
		{"https://:8443/feed.xml", mustBeURL},
		{" " + feedURL, mustBeURL},
		{"https://reader:secret@www.example.org/feed.xml", noCredentials},
		{"https://token@www.example.org/feed.xml", noCredentials},
		{"https://", mustBeURL},
		{"http://", "should be at least 8 chars long"},
		{feedURL + "?" + strings.Repeat("x", longestFeedURL-len(feedURL)), "may not be more than 2048"},
		{absent{}, "Required value"},
	}},
	"the interval is from a minute to a week":            durations("FeedSource", "spec.interval", "1m", "168h"),
	"a request takes from a second to five minutes":      durations("FeedSource", "spec.timeout", "1s", "5m"),
	"the Secret has a name":                              texts("FeedSource", "spec.secretRef.name", true, 253),
	"the first poll makes 0 to 1,000 items":              numbers("FeedSource", "spec.initialItems", 0, 1000),
	"1 to 100,000 items may be unfinished":               numbers("FeedSource", "spec.maxActiveItems", 1, 100_000),
	"1 to 10,000 items are created in a day":             numbers("FeedSource", "spec.maxItemsPerDay", 1, 10_000), // R1.10
	"an article comes from the page, the feed or both":   choices("FeedSource", "spec.article.source", "Auto", "Page", "Feed"),
	"a page has from 1 KiB to 10 MiB":                    numbers("FeedSource", "spec.article.maxBytes", 1024, 10<<20),
	"a summary has from 40 to 5,000 characters":          numbers("FeedSource", "spec.summary.maxCharacters", 40, 5000),
	"a header comes from a key of the Secret":            texts("FeedSource", "spec.headers[].secretKey", true, 253).beside(withSecret),
	"a provider has a name":                              texts("FeedSource", "spec.providers[].name", true, 253),
	"up to eight providers stand in for each other":      lists("FeedSource", "spec.providers", 8, named).unique(named(0)),
	"a destination has a name":                           texts("FeedSource", "spec.destinations[].name", true, 253),
	"a summary goes to up to eight destinations":         lists("FeedSource", "spec.destinations", 8, named).unique(named(0)),                                // R4.5
	"what was posted before is skipped, or posted again": choices("FeedSource", "spec.destinations[].alreadyPosted", "Skip", "PostAgain").beside(toMastodon), // R4.4
	"what was posted before has two choices": rule{kind: "FeedSource", field: "spec.notifications[].alreadyPosted", valid: []any{absent{}}, invalid: []refusal{
		{"sometimes", "supported values"},
	}}.beside(map[string]any{"spec.notifications[].name": "admin"}),
	"only posts of entries can be made again": {kind: "FeedSource", field: "spec.notifications", valid: []any{[]any{named(0)}}, invalid: []refusal{
		{[]any{map[string]any{"name": "admin", "alreadyPosted": "Skip"}}, "alreadyPosted is for spec.destinations: a notification is no post of an entry"},
	}},
	"somebody who is notified has a name":              texts("FeedSource", "spec.notifications[].name", true, 253),
	"up to four are notified of what fails":            lists("FeedSource", "spec.notifications", 4, named).unique(named(0)),            // R3.10
	"criteria have up to 4,000 characters":             texts("FeedSource", "spec.screening.criteria", true, 4000).beside(withProvider), // R2.4
	"a provider that judges has a name":                texts("FeedSource", "spec.screening.providers[].name", true, 253).beside(withCriteria),
	"up to eight providers judge":                      lists("FeedSource", "spec.screening.providers", 8, named).unique(named(0)).beside(map[string]any{"spec.screening.criteria": "New rules.", "spec.providers[].name": "gemini"}),
	"a summary's language is a tag":                    languages("FeedSource", "spec.summary.language"),
	"instructions have up to 4,000 characters":         texts("FeedSource", "spec.summary.instructions", false, 4000),
	"there are 0 to 100 retries":                       numbers("FeedSource", "spec.retry.maxRetries", 0, 100),
	"the first retry comes after a second to a day":    durations("FeedSource", "spec.retry.initialDelay", "1s", "24h").beside(map[string]any{"spec.retry.maxDelay": "24h"}),
	"a retry comes after a week at the latest":         durations("FeedSource", "spec.retry.maxDelay", "1s", "168h").beside(map[string]any{"spec.retry.initialDelay": "1s"}),
	"waits grow by a factor from 1 to 10":              numbers("FeedSource", "spec.retry.multiplier", 1, 10),
	"a processed item is kept from a minute to a year": durations("FeedSource", "spec.retention.processed", "1m", "8760h"),
	"a failed item is kept from a minute to a year":    durations("FeedSource", "spec.retention.failed", "1m", "8760h"),
	"the newest 0 to 1,000 items stay, however old":    numbers("FeedSource", "spec.retention.keepLast", 0, 1000),
	"1 to 100,000 finished items are kept":             numbers("FeedSource", "spec.retention.keepMost", 1, 100_000).beside(map[string]any{"spec.retention.keepLast": int64(0)}), // R2.10
	"the day that a source counts is a date": rule{kind: "FeedSource", field: "status.itemsToday.day", valid: []any{"2026-01-31"}, invalid: []refusal{
		{"31.1.2026", "should match"},
		{"2026-01-31T00:00:00Z", "may not be more than 10"},
		{absent{}, "Required value"},
	}}.beside(map[string]any{"status.itemsToday.created": int64(1)}),
	"a source counts the items of a day":                   counts("FeedSource", "status.itemsToday.created", 0).beside(map[string]any{"status.itemsToday.day": "2026-01-31"}),
	"a poll token is noted in 256 characters":              texts("FeedSource", "status.lastHandledPoll", false, 256),
	"the feed's title is noted in 512 characters":          texts("FeedSource", "status.title", false, 512),
	"the feed's format is noted in 64 characters":          texts("FeedSource", "status.format", false, 64),
	"polls have failed 0 or more times in a row":           counts("FeedSource", "status.consecutiveFailures", 0),
	"a source has up to eight conditions":                  lists("FeedSource", "status.conditions", 8, condition).unique(condition(0)),
	"a source's token of counts is noted in 64 characters": texts("FeedSource", "status.countsToken", false, 64),
	"a source's retry token is noted in 256 characters":    texts("FeedSource", "status.lastHandledRetry", false, 256),
	"screening needs a provider": {kind: "FeedSource", field: "spec", valid: []any{ // R2.4
		map[string]any{"url": feedURL, "screening": map[string]any{"criteria": "New rules."}, "providers": []any{named(0)}},
		map[string]any{"url": feedURL, "screening": map[string]any{"criteria": "New rules.", "providers": []any{named(0)}}},
	}, invalid: []refusal{
		{map[string]any{"url": feedURL, "screening": map[string]any{"criteria": "New rules."}}, screeningNeeds},
		{map[string]any{"url": feedURL, "screening": map[string]any{"criteria": "New rules."}, "providers": []any{}}, screeningNeeds},
	}},
	"headers need a Secret": {kind: "FeedSource", field: "spec", valid: []any{
		map[string]any{"url": feedURL, "headers": []any{}},
		map[string]any{"url": feedURL, "headers": []any{header("X-Api-Key", "key")}, "secretRef": map[string]any{"name": "credentials"}},
	}, invalid: []refusal{
		{map[string]any{"url": feedURL, "headers": []any{header("X-Api-Key", "key")}}, headersNeed},
	}},
	"up to sixteen filters sift entries": lists("FeedSource", "spec.filters", 16, anEntryFilter).unique(anEntryFilter(0)), // R1.8
	"a filter drops or keeps":            choices("FeedSource", "spec.filters[].action", "Keep", "Drop").beside(withFilter),
	"filters have dropped 0 or more":     counts("FeedSource", "status.filteredEntries", 0),
	"0 or more items have ended":         counts("FeedSource", "status.totals.processed", 0), // R5.2
	"0 or more items have ended well":    counts("FeedSource", "status.totals.succeeded", 0),
	"0 or more items have failed":        counts("FeedSource", "status.totals.failed", 0),
	"a filter has the name of a label": rule{kind: "FeedSource", field: "spec.filters[].name",
		valid: []any{"a", "no-sports", "2-old", strings.Repeat("x", 63)},
		invalid: []refusal{
			{"", "should be at least 1 chars long"},
			{strings.Repeat("x", 64), "may not be more than 63"},
			{"No-Sports", "should match"},
			{"no sports", "should match"},
			{"-sports", "should match"},
			{"スポーツ", "should match"},
			{absent{}, "Required value"},
		}}.beside(withFilter),
	"a filter has an expression of up to 4,096 characters": rule{kind: "FeedSource", field: "spec.filters[].expression",
		valid: []any{"true", "title.contains('字')", strings.Repeat("字", 4096)}, // whether it compiles, the operator says
		invalid: []refusal{
			{"", "should be at least 1 chars long"},
			{" \n\t", "expression must not be empty"},
			{strings.Repeat("x", 4097), "may not be more than 4096"},
			{absent{}, "Required value"},
		}}.beside(withFilter),
	"up to sixteen headers are sent": lists("FeedSource", "spec.headers", 16, func(i int) any {
		return header(fmt.Sprintf("X-Header-%d", i), "key")
	}).unique(header("X-Api-Key", "key")).beside(withSecret),
	"a header has a name that HTTP allows, and not one of the operator's": rule{
		kind: "FeedSource", field: "spec.headers[].name",
		valid: []any{"X-Api-Key", "Authorization", "Cookie", "accept", strings.Repeat("x", 128)},
		invalid: []refusal{
			{"", "should be at least 1 chars long"},
			{"X Api Key", headerPattern},
			{"X-Api-Key:", headerPattern},
			{"X-Key\r\nHost", headerPattern},
			{strings.Repeat("x", 129), "may not be more than 128"},
			{"Host", operatorSets},
			{"User-Agent", operatorSets},
			{"ACCEPT-ENCODING", operatorSets},
			{"content-length", operatorSets},
			{"Connection", operatorSets},
			{"Transfer-Encoding", operatorSets},
			{"If-None-Match", operatorSets},
			{"If-Modified-Since", operatorSets},
			{absent{}, "Required value"},
		},
	}.beside(withSecret),
	"the newest that stay are not more than are kept at most": {kind: "FeedSource", field: "spec.retention", valid: []any{ // R2.10
		map[string]any{"keepLast": int64(5), "keepMost": int64(5)},
		map[string]any{"keepLast": int64(1000)}, // the default of keepMost is 1,000
	}, invalid: []refusal{
		{map[string]any{"keepLast": int64(6), "keepMost": int64(5)}, keptInOrder},
		{map[string]any{"keepMost": int64(19)}, keptInOrder}, // the default of keepLast is 20
	}},
	"the first wait is not above the longest": {kind: "FeedSource", field: "spec.retry", valid: []any{
		map[string]any{"initialDelay": "1h", "maxDelay": "1h"},
		map[string]any{"initialDelay": "24h"},
	}, invalid: []refusal{
		{map[string]any{"initialDelay": "2h", "maxDelay": "1h"}, delaysInOrder},
		{map[string]any{"maxDelay": "1m"}, delaysInOrder}, // the default of initialDelay is 5m
	}},
}
