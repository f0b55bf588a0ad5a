// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

// subject is Anthropic to those who test all providers.
var subject = providertest.Subject[*Provider]{
	Model: "claude-haiku-4-5", Start: anthropictest.New, New: New,
	Summary: anthropictest.Summary, Counted: anthropictest.Counted, Text: anthropictest.Text, Verdict: anthropictest.Verdict, CutOff: anthropictest.MaxTokens,
	Error: func(status int, message string) anthropictest.Answer {
		return anthropictest.Error(status, invalid, message)
	},
	Overloaded: anthropictest.Overloaded(), TooLong: anthropictest.TooLong(),
	NoRoom: anthropictest.Error(400, invalid,
		"max_tokens: 32768 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022"),
	NoDocuments: anthropictest.Error(400, invalid, "document: not supported by this model"),

	Names: []string{"claude-haiku-4-5", "anthropic/claude-haiku-4-5@20251001"},
	Paths: []string{"", "/", "/gateway/claude", "/gateway/claude/"},

	Says: map[string][]providertest.Saying{
		"throttle": {
			{"seconds", anthropictest.Throttled(37 * time.Second), 37 * time.Second},
			{"a date", anthropictest.Throttled(0).WithHeader("Retry-After", providertest.InTwoMinutes), 2 * time.Minute},
			{"a date, by a clock of its own", anthropictest.Throttled(0).WithHeader("Retry-After", providertest.InTwoMinutes).WithHeader("Date", providertest.InAMinute), time.Minute},
			{"no time", anthropictest.Throttled(0), 0},
		},
		"quota": {
			{"a spend limit", anthropictest.SpendLimit(), 0},
			{"usage limits, and until when", anthropictest.UsageLimits(providertest.Now.Add(15 * time.Hour)), 15 * time.Hour},
			{"no credit", anthropictest.NoCredit(), 0},
			{"402", anthropictest.Billing(), 0},
			{"a short wait", anthropictest.SpendLimit().WithHeader("Retry-After", "120"), 0},
			{"the time", anthropictest.SpendLimit().WithHeader("Retry-After", "7200"), 2 * time.Hour},
		},
		"overload": {
			{"529", anthropictest.Overloaded(), 0},
			{"529, and a time", anthropictest.Overloaded().WithHeader("Retry-After", "5"), 5 * time.Second},
		},
		"auth": {
			{"401", anthropictest.KeyInvalid(), 0},
			{"403", anthropictest.KeyForbidden(), 0},
		},
		"gone": {{"404", anthropictest.ModelGone(), 0}},
		"too long": {
			{"prompt is too long", anthropictest.TooLong(), 0},
			{"413", anthropictest.TooLarge(), 0},
		},
		"blocked": {
			{"a refusal", anthropictest.Refusal("cyber"), 0},
			{"a refusal in words", anthropictest.Declined(), 0},
		},
		"malformed": {{"JSON that broke off", anthropictest.BrokenJSON(), 0}},
	},
}

// R1.7, R2.4, R2.5, R2.6, R3.1, R3.3, R3.9, R5.6: what every provider must hold.
func TestAnthropic(t *testing.T) { subject.Run(t) }

func TestGenerateSendsWhatTheAPIExpects(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	if _, err := subject.Client(t, server.URL).Generate(t.Context(), providertest.Screened()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	call := server.Calls()[0]
	if version := call.Header.Get("Anthropic-Version"); version != "2023-06-01" || call.Header.Get("X-Api-Key") != providertest.Key {
		t.Errorf("headers are %v", call.Header)
	}
	var body map[string]any
	if err := json.Unmarshal(call.Body, &body); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	want := object{
		"model": subject.Model, "max_tokens": float64(modelapi.OutputTokens),
		"system":   []any{object{"type": "text", "text": call.System}},
		"messages": []any{object{"role": "user", "content": []any{object{"type": "text", "text": call.User}}}},
		"output_config": object{"format": object{"type": "json_schema", "schema": object{
			"type": "object", "additionalProperties": false, "required": []any{"screening", "summary"},
			"properties": object{
				"screening": object{
					"type": "object", "additionalProperties": false, "required": []any{"complete", "explanation", "valuable"},
					"description": "The judgement of the article.",
					"properties": object{
						"complete":    object{"type": "boolean", "description": "Whether the article itself is there."},
						"explanation": object{"type": "string", "description": "Why, in one sentence."},
						"valuable":    object{"type": "boolean", "description": "Whether the article meets the criteria."},
					},
				},
				"summary": object{"type": "string", "description": "The summary. Empty if the article is not complete or not valuable."},
			},
		}}},
	}
	// Nothing more: some models refuse a temperature, an effort or a mode of thinking.
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if call.System == "" || strings.Contains(call.System, "council") {
		t.Errorf("the system part is %q", call.System)
	}
}

func TestGenerateLeavesOutThoughts(t *testing.T) {
	t.Parallel()
	subject.Reads(t, map[string]providertest.Reading{
		"thoughts, and blocks of new kinds": {anthropictest.Body(http.StatusOK, "text/plain", `{"type":"message","model":"claude-haiku-4-5-20251001","content":[
			{"type":"thinking","thinking":"Let me think.","signature":"eA=="},{"type":"redacted_thinking","data":"eA=="},
			{"type":"text","text":"{\"summary\":"},{"type":"text","text":"\"One.\"}","citations":null},{"type":"block_to_come","text":"!"}],
			"stop_reason":"end_turn","field_to_come":1,
			"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":8}}`), "claude-haiku-4-5-20251001", 15},
	})
}
