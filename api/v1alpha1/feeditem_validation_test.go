// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"maps"
)

const someTime = "2026-01-02T03:04:05Z"

// aProviderFailure is the least that the failure of a provider says.
var aProviderFailure = map[string]any{
	"status.providerFailures[].name": "built-in", "status.providerFailures[].category": "API",
	"status.providerFailures[].count": int64(1), "status.providerFailures[].time": someTime,
}

// anEntry is the least that an entry of the history says.
var anEntry = map[string]any{
	"status.history[].time": someTime, "status.history[].stage": "summarize", "status.history[].status": "success",
}

func historyEntry(int) any {
	return map[string]any{"time": someTime, "stage": "summarize", "status": "success"}
}

// aDelivery is the least that a delivery says.
var aDelivery = map[string]any{"status.deliveries[].destination": "mastodon", "status.deliveries[].state": "Queued"}

func delivery(i int) any {
	return map[string]any{"destination": fmt.Sprintf("destination-%d", i), "state": "Queued"}
}

// aScreening is the least that a verdict says.
var aScreening = map[string]any{
	"status.screening.valuable": false, "status.screening.complete": true, "status.screening.provider": "gemini",
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

var feedItemRules = merge(failureRules("FeedItem", "status.failure", nil), failureRules("FeedSource", "status.failure", nil),
	failureRules("FeedItem", "status.deliveries[].failure", aDelivery), notificationRules, map[string]rule{
		"an item names its source":                        texts("FeedItem", "spec.sourceRef.name", true, 253).beside(map[string]any{"spec.sourceRef.uid": "1"}),
		"an item names its source's UID":                  texts("FeedItem", "spec.sourceRef.uid", true, 64).beside(map[string]any{"spec.sourceRef.name": "press"}),
		"a GUID has up to 2,048 characters":               texts("FeedItem", "spec.guid", false, 2048),
		"an article's URL has up to 4,096 characters":     texts("FeedItem", "spec.url", false, 4096),
		"an entry's title has up to 1,024 characters":     texts("FeedItem", "spec.title", false, 1024),
		"an author has up to 256 characters":              texts("FeedItem", "spec.author", false, 256),
		"an image has an address":                         texts("FeedItem", "spec.image.url", true, 4096),
		"an image's text has up to 1,500 characters":      texts("FeedItem", "spec.image.description", false, 1500).beside(map[string]any{"spec.image.url": "https://a.example/1.png"}),
		"a page's image has an address":                   texts("FeedItem", "status.pageImage.url", true, 4096),
		"a page's image's text is as long":                texts("FeedItem", "status.pageImage.description", false, 1500).beside(map[string]any{"status.pageImage.url": "https://a.example/1.png"}),
		"an uploaded image's ID has up to 128 characters": texts("FeedItem", "status.deliveries[].image.id", false, 128).beside(aDelivery),
		"why there is no image is said in 512":            texts("FeedItem", "status.deliveries[].image.message", false, 512).beside(aDelivery),
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
		"there are thirteen reasons, and none": choices("FeedItem", "status.reason", "", "NotValuable", "PageNotReady", "DownloadFailed",
			"LargeFileSkipped", "NoContent", "AlreadyPosted", "APIFailed", "Waiting", "RetryLimitExceeded", "AuthenticationFailed", "InvalidContent",
			"InvalidConfiguration", "DeliveryUncertain"),
		// R3.11
		"an item's history has up to ten entries": lists("FeedItem", "status.history", 10, historyEntry),
		"an attempt came to one of six stages": choices("FeedItem", "status.history[].stage",
			"poll", "article", "screen", "summarize", "deliver", "notify").beside(anEntry),
		"an attempt ends in one of three ways":         choices("FeedItem", "status.history[].status", "success", "failed", "retrying").beside(anEntry),
		"an attempt's category is one of six":          categories("FeedItem", "status.history[].category").beside(anEntry),
		"an attempt is the 0th or a later retry":       counts("FeedItem", "status.history[].retry", 0).beside(anEntry),
		"an attempt's object has up to 253 characters": texts("FeedItem", "status.history[].object", false, 253).beside(anEntry),
		// R2.4
		"an article's hash has up to 64 characters":      texts("FeedItem", "status.articleHash", false, 64),
		"a verdict is explained in 1,000 characters":     texts("FeedItem", "status.screening.explanation", false, 1000).beside(aScreening),
		"a verdict names who has judged":                 mandatory("FeedItem", "status.screening.provider", 253).beside(aScreening),
		"a verdict says whether the article is valuable": yesOrNo("FeedItem", "status.screening.valuable").beside(aScreening),
		"a verdict says whether the page was complete":   yesOrNo("FeedItem", "status.screening.complete").beside(aScreening),
		// R4.4, R4.5
		"up to eight destinations each have one delivery": lists("FeedItem", "status.deliveries", 8, delivery).unique(delivery(0)),
		"a delivery names its destination":                mandatory("FeedItem", "status.deliveries[].destination", 253).beside(aDelivery),
		"a delivery is in one of six states":              choices("FeedItem", "status.deliveries[].state", "Queued", "Intent", "Done", "Dead", "Dropped", "AlreadyPosted").beside(aDelivery),
		"an entry's identity has up to 64 characters":     texts("FeedItem", "spec.identity", false, 64), // R4.4
		"a delivery has failed 0 or more times":           counts("FeedItem", "status.deliveries[].failedAttempts", 0).beside(aDelivery),
		"a delivery's key has up to 64 characters":        texts("FeedItem", "status.deliveries[].key", false, 64).beside(aDelivery),
		"a posted text's hash has up to 64 characters":    texts("FeedItem", "status.deliveries[].textHash", false, 64).beside(aDelivery),
		"a post's ID has up to 128 characters":            texts("FeedItem", "status.deliveries[].id", false, 128).beside(aDelivery),
		"a post's URL has up to 2,048 characters":         texts("FeedItem", "status.deliveries[].url", false, 2048).beside(aDelivery),
	})

// failureRules are those of a failure, wherever one stands. There is no failure without what the
// failed thing itself needs beside it.
func failureRules(kind, field string, beside map[string]any) map[string]rule {
	with := merge(beside, map[string]any{
		field + ".category": "Network", field + ".message": "No answer.", field + ".stage": "article", field + ".time": someTime,
	})
	rules := map[string]rule{
		"is of one of six categories":                     categories(kind, field+".category"),
		"has a type of up to 64 characters":               texts(kind, field+".type", false, 64),
		"says what happened":                              mandatory(kind, field+".message", 1024),
		"happened at one of six stages":                   choices(kind, field+".stage", "poll", "article", "screen", "summarize", "deliver", "notify"),
		"happened to something with up to 253 characters": texts(kind, field+".object", false, 253),
		"has an HTTP status of three digits":              numbers(kind, field+".httpStatus", 100, 999),
		"has up to eight errors behind it":                lists(kind, field+".chain", 8, word),
		"has errors of up to 256 characters behind it":    longestElement(kind, field+".chain[]", 256),
		"has a stack of up to 2,048 characters":           texts(kind, field+".stack", false, 2048),
	}
	named := map[string]rule{}
	for sentence, r := range rules {
		named[kind+": "+field+" "+sentence] = r.beside(with)
	}
	return named
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

// yesOrNo must be said.
func yesOrNo(kind, field string) rule {
	return rule{kind: kind, field: field, valid: []any{true, false}, invalid: []refusal{
		{absent{}, "Required value"}, {"maybe", "must be of type boolean"},
	}}
}

// longestElement bounds each text of a list.
func longestElement(kind, field string, longest int) rule {
	r := texts(kind, field, false, longest)
	r.valid = r.valid[:len(r.valid)-1] // an element is there or it is no element
	return r
}

func merge[V any](tables ...map[string]V) map[string]V {
	merged := map[string]V{}
	for _, table := range tables {
		maps.Copy(merged, table)
	}
	return merged
}
