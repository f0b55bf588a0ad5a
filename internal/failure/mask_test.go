// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// R5.6
func TestMaskKnowsTheKeysOfProvidersAndDestinations(t *testing.T) {
	t.Parallel()
	const tail = "Qm9vTm90QVNlY3JldDEyMzQ1Njc4OTBhYmNk"
	for name, text := range map[string]string{
		"Gemini, in words":          "API key AIza" + tail + " not valid",
		"Gemini, in a URL":          "https://example.org/v1/models/m:generateContent?alt=json&key=AIza" + tail,
		"Gemini, in a URL in a URL": "next%3Fkey%3DAIza" + tail,
		"OpenAI, in words":          "Incorrect API key provided: sk-proj-" + tail,
		"OpenAI, of old":            "Incorrect API key provided: sk-" + tail,
		"Anthropic, in words":       "the key sk-ant-api03-" + tail + " is revoked",
		"Anthropic, in a header":    "X-Api-Key: sk-ant-api03-" + tail,
		"Mastodon, in a header":     "Authorization: Bearer ZA-Yj3aBD8U8Cm7lKUp-" + tail[:23],
		"Mastodon, bare":            "sent Bearer ZA_Yj3aBD8U8Cm7lKUp-" + tail[:23] + " to it",
		"JSON":                      `{"error":{"access_token":"` + tail + `"}}`,
		"JSON in quotes":            fmt.Sprintf("%q", `{"error":{"api_key":"`+tail+`"}}`),
		"a longer name":             "client_secret=" + tail + " OPENAI_API_KEY=" + tail,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := failure.Mask(text); strings.Contains(got, tail[:12]) {
				t.Errorf("%q is masked as %q", text, got)
			}
		})
	}
	for _, text := range []string{
		"https://example.org/sk-novinky-zo-sveta-2026/clanok", "The monkey: a study", "https://example.org/v1/models/m:generateContent",
	} {
		if got := failure.Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// R5.6: the error of an http.Client repeats the URL.
func TestARecordHoldsNoQuery(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"key=hunter2", "q=it's&sig=hunter2", `q="x"&sig=hunter2`, "q=a b&sig=hunter2"} {
		err := error(&url.Error{Op: "Post", URL: "https://example.org/v1/models?" + query, Err: errors.New("broken")})
		for _, shown := range []error{err, fmt.Errorf("call: %w", err), failure.Wrap(v1alpha1.CategoryAPI, "", err.Error(), err)} {
			record := failure.Record(shown, v1alpha1.StageSummarize, "", time.Unix(0, 0))
			if text := fmt.Sprintf("%+v", record); strings.Contains(text, "hunter2") || !strings.Contains(text, "example.org/v1/models") {
				t.Errorf("record %s", text)
			}
		}
	}
}
