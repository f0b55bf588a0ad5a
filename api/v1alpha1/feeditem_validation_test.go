// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"maps"
)

const someTime = "2026-01-02T03:04:05Z"

// aFailure is the least that a failure says.
var aFailure = map[string]any{
	"status.failure.category": "Network", "status.failure.message": "No answer.",
	"status.failure.stage": "article", "status.failure.time": someTime,
}

// aProviderFailure is the least that the failure of a provider says.
var aProviderFailure = map[string]any{
	"status.providerFailures[].name": "built-in", "status.providerFailures[].category": "API",
	"status.providerFailures[].count": int64(1), "status.providerFailures[].time": someTime,
}

// aSummary is the least that a summary says.
var aSummary = map[string]any{"status.summary.text": "It rains.", "status.summary.provider": "built-in"}

func providerFailure(i int) any {
	return map[string]any{"name": fmt.Sprintf("provider-%d", i), "category": "API", "count": int64(1), "time": someTime}
}

func condition(i int) any {
	return map[string]any{
		"type": fmt.Sprintf("Condition%d", i), "status": "True", "reason": "Test", "message": "", "lastTransitionTime": someTime,
	}
}

func word(i int) any { return fmt.Sprintf("word %d", i) }

var feedItemRules = merge(failureRules("FeedItem"), failureRules("FeedSource"), map[string]rule{
	"an item names its source":                        texts("FeedItem", "spec.sourceRef.name", true, 253).beside(map[string]any{"spec.sourceRef.uid": "1"}),
	"an item names its source's UID":                  texts("FeedItem", "spec.sourceRef.uid", true, 64).beside(map[string]any{"spec.sourceRef.name": "press"}),
	"a GUID has up to 2,048 characters":               texts("FeedItem", "spec.guid", false, 2048),
	"an article's URL has up to 4,096 characters":     texts("FeedItem", "spec.url", false, 4096),
	"an entry's title has up to 1,024 characters":     texts("FeedItem", "spec.title", false, 1024),
	"an author has up to 256 characters":              texts("FeedItem", "spec.author", false, 256),
	"a category has up to 128 characters":             longestElement("FeedItem", "spec.categories[]", 128),
	"an entry has up to 32 categories":                lists("FeedItem", "spec.categories", 32, word),
	"content has up to 8 KiB":                         texts("FeedItem", "spec.content", false, 8192),
	"compressed content has up to 32 KiB, as base64":  texts("FeedItem", "spec.compressedContent", false, 43692),
	"an item is in one of five phases":                choices("FeedItem", "status.phase", "Unprocessed", "Deferred", "Pending", "Processed", "Failed"),
	"an item has failed on 0 or more retries":         counts("FeedItem", "status.retryCount", 0),
	"a retry token is noted in 256 characters":        texts("FeedItem", "status.lastHandledRetry", false, 256),
	"an item has up to eight conditions":              lists("FeedItem", "status.conditions", 8, condition).unique(condition(0)),
	"a summary has a text of up to 10,000 characters": texts("FeedItem", "status.summary.text", true, 10_000).beside(aSummary),
	"a summary's model has up to 253 characters":      texts("FeedItem", "status.summary.model", false, 253).beside(aSummary),
	"a summary has cost 0 or more tokens":             counts("FeedItem", "status.summary.tokens", 0).beside(aSummary),
	"a failed provider was asked at least once":       counts("FeedItem", "status.providerFailures[].count", 1).beside(aProviderFailure),
	"up to sixteen providers have failed":             lists("FeedItem", "status.providerFailures", 16, providerFailure).unique(providerFailure(0)),
	"a failed provider's category is one of six":      categories("FeedItem", "status.providerFailures[].category").beside(aProviderFailure),
	"a summary names who wrote it":                    mandatory("FeedItem", "status.summary.provider", 253).beside(aSummary),
	"a failed provider has a name":                    mandatory("FeedItem", "status.providerFailures[].name", 253).beside(aProviderFailure),
	"there are eleven reasons, and none": choices("FeedItem", "status.reason", "", "NotValuable", "PageNotReady", "DownloadFailed",
		"LargeFileSkipped", "APIFailed", "Waiting", "RetryLimitExceeded", "AuthenticationFailed", "InvalidContent",
		"InvalidConfiguration", "DeliveryUncertain"),
})

// failureRules are those of a failure, which both sources and items carry.
func failureRules(kind string) map[string]rule {
	return map[string]rule{
		kind + ": a failure is of one of six categories":      categories(kind, "status.failure.category").beside(aFailure),
		kind + ": a failure's type has up to 64 characters":   texts(kind, "status.failure.type", false, 64).beside(aFailure),
		kind + ": a failure says what happened":               mandatory(kind, "status.failure.message", 1024).beside(aFailure),
		kind + ": a failure happened at one of six stages":    choices(kind, "status.failure.stage", "poll", "article", "screen", "summarize", "deliver", "notify").beside(aFailure),
		kind + ": what failed has up to 253 characters":       texts(kind, "status.failure.object", false, 253).beside(aFailure),
		kind + ": an HTTP status has three digits":            numbers(kind, "status.failure.httpStatus", 100, 999).beside(aFailure),
		kind + ": a failure has up to eight errors behind it": lists(kind, "status.failure.chain", 8, word).beside(aFailure),
		kind + ": an error behind has up to 256 characters":   longestElement(kind, "status.failure.chain[]", 256).beside(aFailure),
		kind + ": a stack has up to 2,048 characters":         texts(kind, "status.failure.stack", false, 2048).beside(aFailure),
	}
}

func categories(kind, field string) rule {
	return choices(kind, field, "Network", "RateLimit", "API", "Auth", "Validation", "Unknown")
}

// mandatory texts must be there, but may be empty.
func mandatory(kind, field string, longest int) rule {
	r := texts(kind, field, true, longest)
	r.valid = append(r.valid, "")
	r.invalid = []refusal{r.invalid[0], {absent{}, "Required value"}}
	return r
}

// longestElement bounds each text of a list.
func longestElement(kind, field string, longest int) rule {
	r := texts(kind, field, false, longest)
	r.valid = r.valid[:len(r.valid)-1] // an element is there or it is no element
	return r
}

func merge(tables ...map[string]rule) map[string]rule {
	merged := map[string]rule{}
	for _, table := range tables {
		maps.Copy(merged, table)
	}
	return merged
}
