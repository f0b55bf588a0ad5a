// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import "strings"

const (
	oneDestination  = "name exactly one destination: mastodon or webhook"
	mustBeServer    = "server must be a full URL without a path, such as https://mastodon.example"
	noTokenInServer = "server must not hold credentials, a query or a fragment: the token belongs into the Secret"
	mastodonServer  = "https://mastodon.example"
)

// aMastodon is the least that is said of an account.
var aMastodon = map[string]any{"server": mastodonServer, "secretRef": map[string]any{"name": "mastodon"}}

var feedDestinationRules = merge(serviceRules("FeedDestination"), webhookRules, map[string]rule{
	"a destination is exactly one that the operator knows": {kind: "FeedDestination", field: "spec", valid: []any{
		map[string]any{"mastodon": aMastodon},
		map[string]any{"webhook": aWebhook},
	}, invalid: []refusal{
		{map[string]any{}, oneDestination},
		{map[string]any{"suspend": true}, oneDestination},
		{map[string]any{"webhook": aWebhook, "mastodon": aMastodon}, oneDestination},
		{map[string]any{"webhook": aWebhook, "template": "{{.Title}}"}, noTemplate},
		{absent{}, "Required value"},
	}},
	// R4.1, R5.6. R4.7: whether http:// is allowed is a flag of the operator, so the API server takes both.
	"a server is a URL without a path and without secrets": {kind: "FeedDestination", field: "spec.mastodon.server", valid: []any{
		mastodonServer, mastodonServer + "/", "HTTPS://Mastodon.Example", "http://127.0.0.1:3000", "https://[2001:db8::1]:8443/", "https://例え.example",
		"https://" + strings.Repeat("x", 504),
	}, invalid: []refusal{
		{"mastodon.example", mustBeServer},
		{"@press@mastodon.example", mustBeServer},
		{"ftp://mastodon.example", mustBeServer},
		{"https://", mustBeServer},
		{"https://:8443", mustBeServer},
		{mastodonServer + " ", mustBeServer},
		{mastodonServer + "/@press", mustBeServer},
		{mastodonServer + "/api/v1", mustBeServer},
		{mastodonServer + "//", mustBeServer},
		{mastodonServer + "/%2F", mustBeServer},
		{"http://user:pass@mastodon.example", noTokenInServer},
		{"https://token@mastodon.example/", noTokenInServer},
		{mastodonServer + "?access_token=x", noTokenInServer},
		{mastodonServer + "/?", noTokenInServer},
		{mastodonServer + "/#top", noTokenInServer},
		{mastodonServer + "#", noTokenInServer},
		{"http://", "should be at least 8 chars long"},
		{"https://" + strings.Repeat("x", 505), "may not be more than 512"},
		{absent{}, "Required value"},
	}},
	"an account's token comes from a Secret with a name": texts("FeedDestination", "spec.mastodon.secretRef.name", true, 253),
	"a post is seen by one of four circles":              choices("FeedDestination", "spec.mastodon.visibility", "public", "unlisted", "private", "direct"),
	"a post's language is a tag":                         languages("FeedDestination", "spec.mastodon.language"),
	"a post has its entry's image, or not":               choices("FeedDestination", "spec.mastodon.image", "None", "Attach"),
	"up to sixteen types of images are taken":            lists("FeedDestination", "status.server.imageTypes", 16, word),
	"a type of images has up to 64 characters":           longestElement("FeedDestination", "status.server.imageTypes[]", 64),
	"a content warning has up to 500 characters":         texts("FeedDestination", "spec.mastodon.contentWarning", false, 500),
	"a post has 1 to 32 hashtags":                        numbers("FeedDestination", "spec.mastodon.hashtags.max", 1, 32),
	"up to sixteen hashtags are on every post":           lists("FeedDestination", "spec.mastodon.hashtags.always", 16, word).unique("#press"),
	"a hashtag has up to 64 characters": {kind: "FeedDestination", field: "spec.mastodon.hashtags.always[]", valid: []any{
		"press", "#press", "天気", strings.Repeat("字", 64),
	}, invalid: []refusal{
		{"", "should be at least 1 chars long"},
		{strings.Repeat("x", 65), "may not be more than 64"},
	}},
	"a template has up to 4,096 characters": texts("FeedDestination", "spec.template", false, 4096),
	"a post takes from a second to minutes": durations("FeedDestination", "spec.timeout", "1s", "5m"),
	"1 to 100 posts are under way":          numbers("FeedDestination", "spec.maxConcurrent", 1, 100),
	"posts may follow each other at any pace up to one a day": {kind: "FeedDestination", field: "spec.minInterval", valid: []any{
		"0s", "999ms", "36s", "24h", absent{},
	}, invalid: []refusal{
		{"-1s", "minInterval must be from 0s to 24h"},
		{"24h1s", "minInterval must be from 0s to 24h"},
		{"", "minInterval must be from 0s to 24h"},
		{"5", "minInterval must be from 0s to 24h"},
		{"1d", "minInterval must be from 0s to 24h"},
	}},
	// R3.4: deliveries have retries of their own.
	"a post has 0 to 100 retries":                    numbers("FeedDestination", "spec.retry.maxRetries", 0, 100),
	"a post is first retried within a day":           durations("FeedDestination", "spec.retry.initialDelay", "1s", "24h").beside(map[string]any{"spec.retry.maxDelay": "24h"}),
	"a post is retried after a week at the latest":   durations("FeedDestination", "spec.retry.maxDelay", "1s", "168h").beside(map[string]any{"spec.retry.initialDelay": "1s"}),
	"waits for a post grow by a factor from 1 to 10": numbers("FeedDestination", "spec.retry.multiplier", 1, 10),
	"a post's first wait is not above the longest": {kind: "FeedDestination", field: "spec.retry", valid: []any{
		map[string]any{"initialDelay": "1h", "maxDelay": "1h"},
		map[string]any{"initialDelay": "24h"},
	}, invalid: []refusal{
		{map[string]any{"initialDelay": "2h", "maxDelay": "1h"}, delaysInOrder},
		{map[string]any{"maxDelay": "1m"}, delaysInOrder}, // the default of initialDelay is 5m
	}},
	"0 or more posts were made":                      counts("FeedDestination", "status.delivered", 0),
	"an account is noted in 512 characters":          texts("FeedDestination", "status.server.account", false, 512),
	"a server's software is noted in 128 characters": texts("FeedDestination", "status.server.software", false, 128),
})
