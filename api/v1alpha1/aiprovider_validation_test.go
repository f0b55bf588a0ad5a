// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

var aiProviderRules = map[string]rule{
	"a provider is asked 1 to 100,000 times a minute": numbers("AIProvider", "spec.requestsPerMinute", 1, 100_000),
	"1 to 1,000 requests are under way":               numbers("AIProvider", "spec.maxConcurrent", 1, 1000),
	"a summary takes from a second to ten minutes":    durations("AIProvider", "spec.timeout", "1s", "10m"),
	"a provider has up to eight conditions":           lists("AIProvider", "status.conditions", 8, condition).unique(condition(0)),
	"a provider is one that the operator knows": {kind: "AIProvider", field: "spec", valid: []any{
		map[string]any{"extractive": map[string]any{}},
	}, invalid: []refusal{
		{map[string]any{}, "name exactly one provider: extractive"},
		{map[string]any{"suspend": true}, "name exactly one provider: extractive"},
	}},
}

// A FeedMemory is written by the operator alone, which keeps within these bounds.
var feedMemoryRules = map[string]rule{
	"a URL's hash has up to 64 characters":       texts("FeedMemory", "data.urlHash", false, 64),
	"an ETag has up to 1,024 characters":         texts("FeedMemory", "data.etag", false, 1024),
	"a Last-Modified has up to 256 characters":   texts("FeedMemory", "data.lastModified", false, 256),
	"a body's hash has up to 64 characters":      texts("FeedMemory", "data.bodyHash", false, 64),
	"the GUIDs have up to 480,000 characters":    hashes("data.guids"),
	"the URLs have up to 480,000 characters":     hashes("data.urls"),
	"the contents have up to 480,000 characters": hashes("data.contents"),
}

// hashes are ASCII: three bytes a character would be more than a request may have.
func hashes(field string) rule {
	r := texts("FeedMemory", field, false, 480_000)
	r.valid = append(r.valid[:2], "", absent{})
	return r
}
