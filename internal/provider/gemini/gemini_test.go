// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

// subject is Gemini to those who test all providers.
var subject = providertest.Subject[*Provider]{
	Model: "gemini-2.5-flash", Start: geminitest.New, New: New,
	Summary: geminitest.Summary, Counted: geminitest.Counted, Text: geminitest.Text, Verdict: geminitest.Verdict, CutOff: geminitest.MaxTokens,
	Error: func(status int, message string) geminitest.Answer {
		return geminitest.Error(status, "INVALID_ARGUMENT", message)
	},
	Overloaded: geminitest.Unavailable(), TooLong: geminitest.TooLong(),
	NoRoom:      geminitest.Error(400, "INVALID_ARGUMENT", "max_output_tokens exceeds the limit of 8192."),
	NoDocuments: geminitest.Error(400, "INVALID_ARGUMENT", "Unable to process input document."),

	Names: []string{"gemini-2.5-flash", "models/gemini-2.5-flash"}, Prefix: models,
	Paths: []string{"", "/", "/gateway/google", "/gateway/google/"},

	Says: map[string][]providertest.Saying{
		"throttle": {
			{"a delay in the body", geminitest.Throttled(36500 * time.Millisecond), 36500 * time.Millisecond},
			{"a date", geminitest.Throttled(0).WithHeader("Retry-After", providertest.InTwoMinutes), 2 * time.Minute},
			{"a date, by a clock of its own", geminitest.Throttled(0).WithHeader("Retry-After", providertest.InTwoMinutes).WithHeader("Date", providertest.InAMinute), time.Minute},
			{"no time", geminitest.Throttled(0), 0},
		},
		"quota": {
			{"a quota per day, and a short wait", geminitest.QuotaPerDay(), 0},
			{"a limit of 0", geminitest.QuotaZero(), 0},
			{"402", geminitest.Error(402, "", "Pay."), 0},
			{"FAILED_PRECONDITION", geminitest.NoBilling(), 0},
			{"the time", geminitest.QuotaPerDay().WithHeader("Retry-After", "7200"), 2 * time.Hour},
		},
		"overload": {
			{"503", geminitest.Unavailable(), 0},
			{"503, and a time", geminitest.Unavailable().WithHeader("Retry-After", "5"), 5 * time.Second},
		},
		"auth": {
			{"400 API_KEY_INVALID", geminitest.KeyInvalid(), 0},
			{"401", geminitest.Error(401, "UNAUTHENTICATED", "Missing credentials."), 0},
			{"403", geminitest.KeyForbidden(), 0},
		},
		"gone":     {{"404", geminitest.ModelGone(), 0}},
		"too long": {{"INVALID_ARGUMENT", geminitest.TooLong(), 0}},
		"blocked": {
			{"a blocked prompt", geminitest.Blocked("PROHIBITED_CONTENT"), 0},
			{"SAFETY", geminitest.Stopped("SAFETY"), 0},
			{"RECITATION", geminitest.Stopped("RECITATION"), 0},
			{"PROHIBITED_CONTENT", geminitest.Stopped("PROHIBITED_CONTENT"), 0},
			{"a refusal in words", geminitest.Refusal(), 0},
		},
		"malformed": {{"JSON that broke off", geminitest.BrokenJSON(), 0}},
	},
}

// R1.7, R2.4, R2.5, R2.6, R3.1, R3.3, R3.9, R5.6: what every provider must hold.
func TestGemini(t *testing.T) { subject.Run(t) }

func TestGenerateSendsWhatTheAPIExpects(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	if _, err := subject.Client(t, server.URL).Generate(t.Context(), providertest.Screened()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	var body struct {
		GenerationConfig struct {
			Temperature      float64
			ResponseMimeType string
			ResponseSchema   struct {
				Type       int
				Required   []string
				Properties map[string]struct {
					Type       int
					Properties map[string]struct{ Type int }
				}
			}
		}
		SafetySettings []struct{ Category, Threshold int }
	}
	if err := json.Unmarshal(server.Calls()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	config := body.GenerationConfig
	if config.Temperature <= 0 || config.Temperature > 0.3 || config.ResponseMimeType != "application/json" {
		t.Errorf("generationConfig is %+v", config)
	}
	const typeString, typeBoolean, typeObject, blockOnlyHigh = 1, 4, 6, 3
	judgement := config.ResponseSchema.Properties["screening"]
	got := []int{config.ResponseSchema.Type, judgement.Type, judgement.Properties["valuable"].Type, judgement.Properties["complete"].Type,
		judgement.Properties["explanation"].Type, config.ResponseSchema.Properties["summary"].Type}
	if diff := cmp.Diff([]int{typeObject, typeObject, typeBoolean, typeBoolean, typeString, typeString}, got); diff != "" {
		t.Errorf("types in the schema (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"screening", "summary"}, config.ResponseSchema.Required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if len(body.SafetySettings) != 4 {
		t.Errorf("safetySettings are %+v", body.SafetySettings)
	}
	for _, setting := range body.SafetySettings {
		if setting.Threshold != blockOnlyHigh {
			t.Errorf("threshold of category %d is %d", setting.Category, setting.Threshold)
		}
	}
}

func TestGenerateLeavesOutThoughts(t *testing.T) {
	t.Parallel()
	subject.Reads(t, map[string]providertest.Reading{
		"thoughts, signatures and parts of new kinds": {geminitest.Body(http.StatusOK, "application/json", `{"candidates":[{"content":{"role":"model","parts":[
			{"text":"Let me think.","thought":true}, {"thoughtSignature":"eA=="}, {"inlineData":{"mimeType":"x/y","data":""}},
			{"text":"{\"summary\":"}, {"text":"\"One.\"}","thoughtSignature":"eA=="}, {"newKindOfPart":{}}]},"finishReason":"STOP","newField":1}],
			"usageMetadata":{"totalTokenCount":42},"modelVersion":"gemini-2.5-flash-002"}`), "gemini-2.5-flash-002", 42},
	})
}
