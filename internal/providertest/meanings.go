// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// Saying is a way to say that something is wrong. It has no name of its own, so that tables in
// other packages can be written without the names of its fields.
type Saying = struct {
	Said   string
	Answer aitest.Answer
	// Wait is how long the API asks to wait.
	Wait time.Duration
}

// meaning is what is made of what goes wrong with an API.
type meaning struct {
	Category v1alpha1.Category
	Type     string
	Quota    bool
	// Calls is how often the same article is sent.
	Calls int
}

// said are the meanings that each API has its own words for: Subject.Says must know them all.
var said = map[string]meaning{
	"throttle":  {v1alpha1.CategoryRateLimit, failure.TypeThrottled, false, 1},
	"quota":     {v1alpha1.CategoryRateLimit, failure.TypeQuotaSpent, true, 1},
	"overload":  {v1alpha1.CategoryAPI, failure.TypeOverloaded, false, 1},
	"auth":      {v1alpha1.CategoryAuth, failure.TypeCredentials, false, 1},
	"gone":      {v1alpha1.CategoryValidation, failure.TypeModelNotFound, false, 1},
	"too long":  {v1alpha1.CategoryValidation, failure.TypeTooLong, false, 2}, // shortened once
	"blocked":   {v1alpha1.CategoryValidation, failure.TypeBlocked, false, 1},
	"malformed": {v1alpha1.CategoryAPI, failure.TypeMalformed, false, 1},
}

// unsaid are those that are seen without words, or come from what stands before the API.
var unsaid = map[string]meaning{
	"empty":     {v1alpha1.CategoryAPI, failure.TypeEmpty, false, 1},
	"truncated": {v1alpha1.CategoryAPI, failure.TypeTruncated, false, 2}, // with more room
	"firewall":  {v1alpha1.CategoryAPI, failure.TypeHTTPStatus, false, 1},
	"too large": {v1alpha1.CategoryAPI, failure.TypeTooLarge, false, 1},
	"internal":  {v1alpha1.CategoryAPI, failure.TypeHTTPStatus, false, 1},
	"timeout":   {v1alpha1.CategoryNetwork, failure.TypeTimeout, false, 1},
	"redirect":  {v1alpha1.CategoryValidation, failure.TypeRedirect, false, 1},
}

// anywhere is what comes from each API and what stands before it, in the same way.
func (s Subject[P]) anywhere() map[string][]Saying {
	const plain, doc = "text/plain", "application/json"
	return map[string][]Saying{
		"throttle": {{"429 of a gateway", aitest.Body(http.StatusTooManyRequests, plain, "slow down"), 0}},
		"malformed": {
			{"a text that is no JSON", s.Text("Here is your summary: The council met."), 0},
			{"JSON that is something else", s.Text(`["summary"]`), 0},
			{"a list", aitest.Body(http.StatusOK, doc, "[]"), 0},
			{"a web page", aitest.HTML(http.StatusOK), 0},
			{"another success", aitest.Body(http.StatusNoContent, "", ""), 0},
		},
		"empty": {
			{"an empty object", aitest.Body(http.StatusOK, doc, "{}"), 0},
			{"no summary", s.Text(`{"screening":null}`), 0},
			{"a blank summary", s.Summary(" \u200b\n"), 0},
		},
		"blocked":   {{"a refusal in the summary", s.Summary("I'm sorry, but I cannot summarize this article."), 0}},
		"truncated": {{"too little room", s.CutOff(`{"summ`), 0}},
		"too long":  {{"413 of a gateway", aitest.HTML(http.StatusRequestEntityTooLarge), 0}},
		"firewall":  {{"403 in HTML", aitest.HTML(http.StatusForbidden), 0}},
		"too large": {{"an answer without end", aitest.Body(http.StatusOK, doc, strings.Repeat(" ", 4<<20+1)), 0}},
		"internal":  {{"502 of a gateway", aitest.Body(http.StatusBadGateway, "text/html", "<h1>Bad Gateway</h1>"), 0}},
		"timeout":   {{"408", aitest.Body(http.StatusRequestTimeout, plain, ""), 0}},
		"redirect": {{"307", aitest.Body(http.StatusTemporaryRedirect, "", "").
			WithHeader("Location", "https://example.org/"), 0}},
	}
}

// R3.1, R3.3, R3.9: each API has its own way to say the same, and all mean the same to those who ask.
func (s Subject[P]) knowsWhatIsMeant(t *testing.T) {
	everywhere := s.anywhere()
	for class, want := range said {
		if len(s.Says[class]) == 0 {
			t.Errorf("it does not say how it says %s", class)
		}
		s.means(t, class, want, slices.Concat(s.Says[class], everywhere[class]))
	}
	for class, want := range unsaid {
		s.means(t, class, want, everywhere[class])
	}
	for class := range s.Says {
		if _, known := said[class]; !known {
			t.Errorf("nobody looks at how it says %s", class)
		}
	}
}

func (s Subject[P]) means(t *testing.T, class string, want meaning, sayings []Saying) {
	t.Helper()
	for _, saying := range sayings {
		t.Run(class+"/"+saying.Said, func(t *testing.T) {
			t.Parallel()
			server := s.Serve(t)
			server.OnCall(func(aitest.Call) (aitest.Answer, bool) { return saying.Answer, true })
			response, err := s.Client(t, server.URL).Generate(t.Context(), LongArticle())
			got, calls := Failed(t, err), server.Calls()
			if diff := cmp.Diff(want, meaning{got.Category, got.Type, got.Quota, len(calls)}); diff != "" {
				t.Errorf("outcome of %q (-want +got):\n%s", got, diff)
			}
			if got.RetryAfter != saying.Wait {
				t.Errorf("wait is %s, want %s", got.RetryAfter, saying.Wait)
			}
			if response.Summary != "" {
				t.Errorf("response is %+v", response)
			}
			for _, call := range calls {
				if call.KeyElsewhere || call.KeyRefused || strings.Contains(string(call.Body), Key) { // R5.6
					t.Error("the key is not where it belongs")
				}
			}
		})
	}
}
