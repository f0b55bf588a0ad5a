// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import "strings"

const (
	oneProvider       = "name exactly one provider: gemini, openAI, anthropic or extractive"
	mustBeEndpoint    = "endpoint must be a full https:// URL"
	noKeyInEndpoint   = "endpoint must not hold credentials, a query or a fragment: the key belongs into the Secret"
	modelPattern      = "should match '^[A-Za-z0-9][A-Za-z0-9._/-]*$'"
	geminiEndpoint    = "https://generativelanguage.googleapis.com"
	longestURLOfThese = 2048
)

// aGemini is the least that is said of Gemini.
var aGemini = map[string]any{"model": "gemini-2.5-flash", "secretRef": map[string]any{"name": "gemini"}}

// withGemini has the provider be Gemini, and nothing else.
var withGemini = map[string]any{
	"spec.extractive": absent{}, "spec.gemini.model": "gemini-2.5-flash", "spec.gemini.secretRef.name": "gemini",
}

// aDay is the least that is said of the tokens of a day.
var aDay = map[string]any{"status.tokensToday.day": "2026-01-31"}

var aiProviderRules = merge(serviceRules("AIProvider"), openAIRules, anthropicRules, map[string]rule{
	"a provider is asked 1 to 100,000 times a minute": numbers("AIProvider", "spec.requestsPerMinute", 1, 100_000),
	"1 to 1,000 requests are under way":               numbers("AIProvider", "spec.maxConcurrent", 1, 1000),
	"a summary takes from a second to ten minutes":    durations("AIProvider", "spec.timeout", "1s", "10m"),
	"a provider may cost 1 to 10^12 tokens a day":     numbers("AIProvider", "spec.tokensPerDay", 1, 1_000_000_000_000).beside(withGemini),
	"a provider has cost 0 or more tokens today":      counts("AIProvider", "status.tokensToday.used", 0).beside(aDay),
	"0 or more tokens are reserved":                   counts("AIProvider", "status.tokensToday.reserved", 0).beside(aDay),
	"a day is a date": rule{kind: "AIProvider", field: "status.tokensToday.day", valid: []any{"2026-01-31"}, invalid: []refusal{
		{"", "should match"}, {"today", "should match"}, {"2026-1-31", "should match"}, {"2026-01-31T00:00:00Z", "may not be more than 10"},
		{absent{}, "Required value"},
	}}.beside(aDay),
	"a provider was called 0 or more times":        counts("AIProvider", "status.calls", 0),
	"a provider has cost 0 or more tokens":         counts("AIProvider", "status.tokens", 0),
	"Gemini's key comes from a Secret with a name": texts("AIProvider", "spec.gemini.secretRef.name", true, 253).beside(withGemini),
	"a provider is exactly one that the operator knows": {kind: "AIProvider", field: "spec", valid: []any{
		map[string]any{"extractive": map[string]any{}},
		map[string]any{"gemini": aGemini},
		map[string]any{"openAI": anOpenAI},
		map[string]any{"gemini": aGemini, "tokensPerDay": int64(1)},
	}, invalid: []refusal{
		{map[string]any{"extractive": map[string]any{}, "tokensPerDay": int64(1)}, "tokensPerDay is for a service that counts tokens: extractive uses none"},
		{map[string]any{}, oneProvider},
		{map[string]any{"suspend": true}, oneProvider},
		{map[string]any{"extractive": map[string]any{}, "gemini": aGemini}, oneProvider},
		{map[string]any{"gemini": aGemini, "openAI": anOpenAI}, oneProvider},
	}},
	"a model's name is one that can stand in a URL": rule{
		kind: "AIProvider", field: "spec.gemini.model",
		valid: []any{"gemini-2.5-flash", "models/gemini-2.5-pro", "tunedModels/press_1", strings.Repeat("x", 128)},
		invalid: []refusal{
			{"", "should be at least 1 chars long"},
			{strings.Repeat("x", 129), "may not be more than 128"},
			{"gemini 2.5", modelPattern},
			{"../files", modelPattern},
			{"gemini-2.5-flash?key=x", modelPattern},
			{"gemini-2.5-flash\n", modelPattern},
			{absent{}, "Required value"},
		},
	}.beside(withGemini),
	// R4.7: whether http:// is allowed is a flag of the operator, so the API server takes both.
	"an endpoint is a URL without secrets": rule{
		kind: "AIProvider", field: "spec.gemini.endpoint",
		valid: []any{
			geminiEndpoint, geminiEndpoint + "/", "https://proxy.example/gemini", "http://127.0.0.1:8080", "https://[2001:db8::1]:8443/",
			geminiEndpoint + "/" + strings.Repeat("x", longestURLOfThese-len(geminiEndpoint)-1), absent{},
		},
		invalid: []refusal{
			{"", mustBeEndpoint},
			{"generativelanguage.googleapis.com", mustBeEndpoint},
			{"/v1beta", mustBeEndpoint},
			{"ftp://www.example.org", mustBeEndpoint},
			{"https://", mustBeEndpoint},
			{"https://:8443", mustBeEndpoint},
			{" " + geminiEndpoint, mustBeEndpoint},
			{"http://user:pass@proxy.example", noKeyInEndpoint},
			{"HTTPS://token@proxy.example/gemini", noKeyInEndpoint},
			{geminiEndpoint + "?key=x", noKeyInEndpoint},
			{geminiEndpoint + "/?", noKeyInEndpoint},
			{geminiEndpoint + "#v1beta", noKeyInEndpoint},
			{geminiEndpoint + "/" + strings.Repeat("x", longestURLOfThese-len(geminiEndpoint)), "may not be more than 2048"},
		},
	}.beside(withGemini),
})

// withAnthropic has the provider be Anthropic, and nothing else.
var withAnthropic = map[string]any{
	"spec.extractive": absent{}, "spec.anthropic.model": "claude-haiku-4-5", "spec.anthropic.secretRef.name": "anthropic",
}

const (
	anthropicModelPattern = "should match '^[A-Za-z0-9][A-Za-z0-9._:/@-]*$'"
	anthropicEndpoint     = "https://api.anthropic.com"
)

var anthropicRules = map[string]rule{
	"Anthropic's key comes from a Secret with a name": texts("AIProvider", "spec.anthropic.secretRef.name", true, 253).beside(withAnthropic),
	"Anthropic comes with its Secret": rule{
		kind: "AIProvider", field: "spec.anthropic.secretRef", valid: []any{map[string]any{"name": "anthropic"}},
		invalid: []refusal{{absent{}, "Required value"}},
	}.beside(map[string]any{"spec.extractive": absent{}, "spec.anthropic.model": "claude-haiku-4-5"}),
	"a model of Anthropic is named as it, or a gateway, names it": rule{
		kind: "AIProvider", field: "spec.anthropic.model",
		valid: []any{
			"claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-haiku-4-5@20251001", "anthropic.claude-haiku-4-5-v1:0",
			"anthropic/claude-haiku-4.5", strings.Repeat("x", 128),
		},
		invalid: []refusal{
			{"", "should be at least 1 chars long"},
			{strings.Repeat("x", 129), "may not be more than 128"},
			{"claude haiku", anthropicModelPattern},
			{"../files", anthropicModelPattern},
			{"claude-haiku-4-5?key=x", anthropicModelPattern},
			{"claude-haiku-4-5\n", anthropicModelPattern},
			{absent{}, "Required value"},
		},
	}.beside(withAnthropic),
	// R4.7: whether http:// is allowed is a flag of the operator, so the API server takes both.
	"an endpoint of Anthropic is a URL without secrets": rule{
		kind: "AIProvider", field: "spec.anthropic.endpoint",
		valid: []any{
			anthropicEndpoint, anthropicEndpoint + "/", "https://proxy.example/anthropic", "http://127.0.0.1:8080", "https://[2001:db8::1]:8443/",
			anthropicEndpoint + "/" + strings.Repeat("x", longestURLOfThese-len(anthropicEndpoint)-1), absent{},
		},
		invalid: []refusal{
			{"", mustBeEndpoint},
			{"api.anthropic.com", mustBeEndpoint},
			{"ftp://www.example.org", mustBeEndpoint},
			{"https://", mustBeEndpoint},
			{" " + anthropicEndpoint, mustBeEndpoint},
			{"http://user:pass@proxy.example", noKeyInEndpoint},
			{anthropicEndpoint + "?key=x", noKeyInEndpoint},
			{anthropicEndpoint + "#v1", noKeyInEndpoint},
			{anthropicEndpoint + "/" + strings.Repeat("x", longestURLOfThese-len(anthropicEndpoint)), "may not be more than 2048"},
		},
	}.beside(withAnthropic),
}

// A FeedMemory is written by the operator alone, which keeps within these bounds.
var feedMemoryRules = map[string]rule{
	"a URL's hash has up to 64 characters":     texts("FeedMemory", "data.urlHash", false, 64),
	"an ETag has up to 1,024 characters":       texts("FeedMemory", "data.etag", false, 1024),
	"a Last-Modified has up to 256 characters": texts("FeedMemory", "data.lastModified", false, 256),
	"a body's hash has up to 64 characters":    texts("FeedMemory", "data.bodyHash", false, 64),
	"a memory counts the items of a day":       counts("FeedMemory", "data.itemsToday.created", 0).beside(map[string]any{"data.itemsToday.day": "2026-01-31"}), // R1.10
	"the day that a memory counts is a date": rule{kind: "FeedMemory", field: "data.itemsToday.day", valid: []any{"2026-01-31"}, invalid: []refusal{
		{"31.1.2026", "should match"},
		{"2026-01-31T00:00:00Z", "may not be more than 10"},
		{absent{}, "Required value"},
	}}.beside(map[string]any{"data.itemsToday.created": int64(1)}),
	"a ttl is a year of minutes at most": numbers("FeedMemory", "data.ttlMinutes", 0, 366*24*60),
	"an archive has a name":              texts("FeedMemory", "data.archive", false, 253),
	// R4.4
	"posts are remembered of a destination":      mandatory("FeedMemory", "posted.destination", 253).beside(aMemoryOfPosts),
	"posts are remembered of a server":           mandatory("FeedMemory", "posted.server", 512).beside(aMemoryOfPosts),
	"posts are remembered of an account":         texts("FeedMemory", "posted.account", false, 512).beside(aMemoryOfPosts),
	"a memory of posts has a number":             counts("FeedMemory", "posted.number", 0).beside(aMemoryOfPosts),
	"a memory counts its posts":                  counts("FeedMemory", "posted.posts", 0).beside(aMemoryOfPosts),
	"a memory of posts is bounded":               hashes("posted.data", 1_000_000).beside(aMemoryOfPosts),
	"a memory has a version":                     counts("FeedMemory", "data.version", 0),
	"GUIDs are trusted after ten documents":      numbers("FeedMemory", "data.guidsUntrustedFor", 0, 10),
	"URLs are trusted after ten documents":       numbers("FeedMemory", "data.urlsUntrustedFor", 0, 10),
	"the GUIDs have up to 480,000 characters":    hashes("data.guids", 480_000),
	"the URLs have up to 480,000 characters":     hashes("data.urls", 480_000),
	"the contents have up to 480,000 characters": hashes("data.contents", 480_000),
	"the texts have up to 240,000 characters":    hashes("data.texts", 240_000),
	"shared values have up to 32,000 characters": hashes("data.shared", 32_000),
	"reused values have up to 32,000 characters": hashes("data.reused", 32_000),
}

// hashes are ASCII: three bytes a character would be more than a request may have.
func hashes(field string, longest int) rule {
	r := texts("FeedMemory", field, false, longest)
	r.valid = append(r.valid[:2], "", absent{})
	return r
}

// aMemoryOfPosts is the least that a memory of posts says.
var aMemoryOfPosts = map[string]any{"posted.destination": "mastodon", "posted.server": "//mastodon.example/", "posted.number": int64(1)}
