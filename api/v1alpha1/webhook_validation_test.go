// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
)

const (
	webhookURL     = "https://ops.example.org/news"
	mustBeHook     = "url must be a full URL, such as https://ops.example.org/news"
	noTokenInHook  = "url must not hold credentials or a fragment: a token belongs into the Secret"
	oneURL         = "set exactly one of url and urlFrom"
	secretNeeded   = "urlFrom and headers need secretRef: their values come from the Secret"
	formatOrBody   = "set format or body, not both"
	noBatchOfChats = "batch goes with format JSON or with body: chats take one message at a time"
	noDuplicate    = "401, 403, 410 and 429 cannot mean a duplicate: the operator acts on them"
	eventsAlone    = "events are CloudEvents, one in each request: leave out format, body and batch"
	eventsRepeat   = "events that may have arrived are sent again: onUncertain must be Repeat"
	eventsOneByOne = "events are sent one at a time, and tried again within seconds: leave out retry and maxConcurrent"
	noTemplate     = "template is for posts of Mastodon: a webhook's body is made by webhook.format or webhook.body"
)

// aWebhook is the least that is said of a webhook.
var aWebhook = map[string]any{"url": webhookURL}

// withEvents is a webhook that gets events, and eventStatuses are what these may have.
var (
	withEvents    = hook(map[string]any{"events": map[string]any{}})
	eventStatuses = []string{"pending", "running", "success", "retrying", "failed"}
)

// withWebhook has the destination be a webhook, and nothing else; withHookSecret one with a Secret.
var (
	withWebhook    = map[string]any{"spec.mastodon": absent{}, "spec.webhook.url": webhookURL}
	withHookSecret = merge(withWebhook, map[string]any{
		"spec.webhook.secretRef.name": "ops", "spec.webhook.headers[].name": "X-Api-Key", "spec.webhook.headers[].secretKey": "key",
	})
)

// aBatch is the least that a batch says, aMember a member of one, and aPart a part.
var (
	aBatch  = map[string]any{"status.batches[].key": "4f1a"}
	aMember = merge(aBatch, map[string]any{
		"status.batches[].members[].item": "news-1", "status.batches[].members[].uid": "1", "status.batches[].members[].key": "2",
	})
	aPart = merge(aBatch, map[string]any{"status.batches[].parts[].from": int64(0), "status.batches[].parts[].to": int64(1)})
)

func hook(with map[string]any) map[string]any {
	return merge(aWebhook, with)
}

var webhookRules = merge(failureRules("FeedDestination", "status.batches[].failure", aBatch),
	failureRules("FeedDestination", "status.batches[].members[].failure", aMember), map[string]rule{
		"a webhook says where and how": rule{kind: "FeedDestination", field: "spec.webhook", valid: []any{
			aWebhook,
			map[string]any{"urlFrom": map[string]any{}, "secretRef": map[string]any{"name": "chat"}, "format": "Slack"},
			hook(map[string]any{"body": "{'text': title}", "batch": map[string]any{}}),
			hook(map[string]any{"format": "JSON", "batch": map[string]any{}}),
			hook(map[string]any{"events": map[string]any{}}), hook(map[string]any{"events": map[string]any{}, "onUncertain": "Repeat"}),
		}, invalid: []refusal{
			{map[string]any{}, oneURL},
			{hook(map[string]any{"urlFrom": map[string]any{}, "secretRef": map[string]any{"name": "chat"}}), oneURL},
			{map[string]any{"urlFrom": map[string]any{}}, secretNeeded},
			{hook(map[string]any{"headers": []any{header("X-Api-Key", "key")}}), secretNeeded},
			{hook(map[string]any{"format": "JSON", "body": "{}"}), formatOrBody},
			{hook(map[string]any{"format": "Slack", "batch": map[string]any{}}), noBatchOfChats},
			{hook(map[string]any{"format": "CloudEvents", "batch": map[string]any{}}), noBatchOfChats},
			{hook(map[string]any{"events": map[string]any{}, "format": "CloudEvents"}), eventsAlone},
			{hook(map[string]any{"events": map[string]any{}, "body": "{}"}), eventsAlone},
			{hook(map[string]any{"events": map[string]any{}, "batch": map[string]any{}}), eventsAlone},
			{hook(map[string]any{"events": map[string]any{}, "onUncertain": "Hold"}), eventsRepeat},
		}}.beside(map[string]any{"spec.mastodon": absent{}}),
		"a webhook's URL holds no credentials": rule{kind: "FeedDestination", field: "spec.webhook.url", valid: []any{
			webhookURL, "http://127.0.0.1:8080", "https://ops.example.org/?channel=news", "https://ops.example.org/" + strings.Repeat("x", 2024),
		}, invalid: []refusal{
			{"ops.example.org", mustBeHook},
			{"ftp://ops.example.org", mustBeHook},
			{"https://:8443", mustBeHook},
			{"https://token@ops.example.org/", noTokenInHook},
			{webhookURL + "#x", noTokenInHook},
			{"http://", "should be at least 8 chars long"},
			{"https://ops.example.org/" + strings.Repeat("x", 2025), "may not be more than 2048"},
		}}.beside(map[string]any{"spec.mastodon": absent{}}),
		"a webhook's URL comes from a key of the Secret": rule{kind: "FeedDestination", field: "spec.webhook.urlFrom.secretKey", valid: []any{
			"url", strings.Repeat("x", 253), absent{},
		}, invalid: []refusal{
			{"", "should be at least 1 chars long"}, {strings.Repeat("x", 254), "may not be more than 253"},
		}}.beside(map[string]any{"spec.mastodon": absent{}, "spec.webhook.secretRef.name": "chat"}),
		"events are of five statuses":       lists("FeedDestination", "spec.webhook.events.statuses", 5, func(i int) any { return eventStatuses[i%5] }).unique("failed").beside(withWebhook),
		"an event has one of five statuses": choices("FeedDestination", "spec.webhook.events.statuses[]", "pending", "running", "success", "retrying", "failed").beside(withWebhook),
		"events are sent one at a time, and soon": {kind: "FeedDestination", field: "spec", valid: []any{
			map[string]any{"webhook": withEvents}, map[string]any{"webhook": withEvents, "maxConcurrent": int64(1), "minInterval": "1s"},
		}, invalid: []refusal{
			{map[string]any{"webhook": withEvents, "maxConcurrent": int64(2)}, eventsOneByOne},
			{map[string]any{"webhook": withEvents, "retry": map[string]any{}}, eventsOneByOne},
		}},
		"0 or more events were sent":      counts("FeedDestination", "status.events.sent", 0),
		"0 or more events were dropped":   counts("FeedDestination", "status.events.dropped", 0),
		"a webhook's Secret has a name":   texts("FeedDestination", "spec.webhook.secretRef.name", true, 253).beside(withWebhook),
		"a webhook's body has a format":   choices("FeedDestination", "spec.webhook.format", "JSON", "CloudEvents", "Slack", "Discord", "Teams", "Mattermost", "GoogleChat").beside(withWebhook),
		"what is uncertain is one of two": choices("FeedDestination", "spec.webhook.onUncertain", "Repeat", "Hold").beside(withWebhook),
		"a body has up to 8,192":          bodies,
		"a webhook has up to 16 headers":  lists("FeedDestination", "spec.webhook.headers", 16, func(i int) any { return header(fmt.Sprintf("X-Header-%d", i), "key") }).unique(header("X-Api-Key", "key")).beside(withHookSecret),
		"a header of a webhook is named once, in whatever case": rule{kind: "FeedDestination", field: "spec.webhook.headers", valid: []any{
			[]any{header("X-Api-Key", "key"), header("X-Api-Key-2", "key")},
		}, invalid: []refusal{
			{[]any{header("X-Api-Key", "key"), header("X-API-KEY", "key")}, "a header is named twice: its name is the same in upper and lower case"},
		}}.beside(withHookSecret),
		"a header of a webhook has a key":  texts("FeedDestination", "spec.webhook.headers[].secretKey", true, 253).beside(withHookSecret),
		"up to 16 answers mean duplicates": lists("FeedDestination", "spec.webhook.duplicateStatusCodes", 16, func(i int) any { return int64(430 + i) }).unique(int64(409)).beside(withWebhook),
		"duplicates are from 400 to 599":   numbers("FeedDestination", "spec.webhook.duplicateStatusCodes[]", 400, 599).beside(withWebhook),
		"some answers cannot mean duplicates": rule{kind: "FeedDestination", field: "spec.webhook.duplicateStatusCodes", valid: []any{
			[]any{int64(409), int64(422)}, []any{},
		}, invalid: []refusal{
			{[]any{int64(401)}, noDuplicate}, {[]any{int64(409), int64(429)}, noDuplicate}, {[]any{int64(403)}, noDuplicate}, {[]any{int64(410)}, noDuplicate},
		}}.beside(withWebhook),
		"a header of a webhook is none of the operator's": rule{kind: "FeedDestination", field: "spec.webhook.headers[].name", valid: []any{
			"X-Api-Key", "Authorization", strings.Repeat("x", 128),
		}, invalid: []refusal{
			{"", "should be at least 1 chars long"}, {"X Api Key", headerPattern}, {strings.Repeat("x", 129), "may not be more than 128"},
			{"Content-Type", operatorSets}, {"idempotency-key", operatorSets}, {"Webhook-Signature", operatorSets}, {"Host", operatorSets},
			{absent{}, "Required value"},
		}}.beside(withHookSecret),
		"a batch has 1 to 100 items": numbers("FeedDestination", "spec.webhook.batch.maxItems", 1, 100).beside(withWebhook),
		"a batch waits for an hour at most": rule{kind: "FeedDestination", field: "spec.webhook.batch.maxWait", valid: []any{"0s", "1h", absent{}}, invalid: []refusal{
			{"-1s", "maxWait must be from 0s to 1h"}, {"61m", "maxWait must be from 0s to 1h"}, {"soon", "maxWait must be from 0s to 1h"},
		}}.beside(withWebhook),
		"0 or more posts were had already":        counts("FeedDestination", "status.duplicates", 0),
		"what has ended is noted in 256":          texts("FeedDestination", "status.endedFor", false, 256),
		"sixteen batches are kept":                lists("FeedDestination", "status.batches", 16, func(i int) any { return map[string]any{"key": fmt.Sprint(i)} }),
		"a batch's key has up to 64 characters":   mandatory("FeedDestination", "status.batches[].key", 64).beside(aBatch),
		"a batch has up to 100 members":           lists("FeedDestination", "status.batches[].members", 100, func(i int) any { return map[string]any{"item": "news", "uid": "1", "key": fmt.Sprint(i)} }).beside(aBatch),
		"a batch has up to 16 parts":              lists("FeedDestination", "status.batches[].parts", 16, func(i int) any { return map[string]any{"from": int64(i), "to": int64(i + 1)} }).beside(aBatch),
		"a part begins within the batch":          numbers("FeedDestination", "status.batches[].parts[].from", 0, 99).beside(aPart),
		"a part ends within the batch":            numbers("FeedDestination", "status.batches[].parts[].to", 1, 100).beside(aPart),
		"a batch has failed 0 or more times":      counts("FeedDestination", "status.batches[].failedAttempts", 0).beside(aBatch),
		"a batch was repeated 0 or more times":    counts("FeedDestination", "status.batches[].repeated", 0).beside(aBatch),
		"a member names its item":                 mandatory("FeedDestination", "status.batches[].members[].item", 253).beside(aMember),
		"a member names its item's UID":           texts("FeedDestination", "status.batches[].members[].uid", true, 64).beside(aMember),
		"a member's key has up to 64 characters":  mandatory("FeedDestination", "status.batches[].members[].key", 64).beside(aMember),
		"a member is in one of six states":        choices("FeedDestination", "status.batches[].members[].state", "", "Done", "Duplicate", "Rejected", "GivenUp", "Uncertain").beside(aMember),
		"a member was repeated 0 or more times":   counts("FeedDestination", "status.batches[].members[].repeated", 0).beside(aMember),
		"a delivery was repeated 0 or more times": counts("FeedItem", "status.deliveries[].repeated", 0).beside(aDelivery),
		"a member was in 0 or more batches":       counts("FeedDestination", "status.batches[].members[].batches", 0).beside(aMember),
		"a delivery was in 0 or more batches":     counts("FeedItem", "status.deliveries[].batches", 0).beside(aDelivery),
		"records are of a destination":            mandatory("FeedMemory", "batch.destination", 253).beside(someRecords),
		"records are bounded": rule{kind: "FeedMemory", field: "batch.data", valid: []any{"", strings.Repeat("x", 1_000_000)}, invalid: []refusal{
			{strings.Repeat("x", 1_000_001), "may not be more than 1000000"}, {absent{}, "Required value"},
		}}.beside(someRecords),
	})

// someRecords are the least that is kept of a batch.
var someRecords = map[string]any{"batch.destination": "ops", "batch.data": "H4sI"}

var bodies = rule{kind: "FeedDestination", field: "spec.webhook.body", valid: []any{"{}", strings.Repeat("x", 8192), absent{}}, invalid: []refusal{
	{"", "should be at least 1 chars long"}, {strings.Repeat("x", 8193), "may not be more than 8192"},
}}.beside(withWebhook)
