// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// Outcome is what a caller decides by.
type Outcome = struct {
	Category   v1alpha1.Category
	Type       string
	Status     int
	RetryAfter time.Duration
	Quota      bool
}

// Failing is an answer to a request for a summary, and what it fails with.
type Failing = struct {
	Answer aitest.Answer
	Want   Outcome
	// Says is a part of the message.
	Says string
	// Free is set where the API counts no tokens.
	Free bool
}

// Checking are answers to a question about a model, and what it fails with; nil for not at all.
type Checking = struct {
	Answers []aitest.Answer
	Want    *Outcome
	// Says is a part of the message.
	Says string
}

// Reading is an answer that summarizes an article as "One.", the model that it is by, and its tokens; 0
// for any number of them.
type Reading = struct {
	Answer aitest.Answer
	Model  string
	Tokens int64
}

// Fails checks how a request fails: at once, though the same would succeed if it were asked again.
func (s Subject[P]) Fails(t *testing.T, tests map[string]Failing) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := s.Serve(t)
			server.Next(test.Answer)
			response, err := s.Client(t, server.URL).Generate(t.Context(), Article())
			failedAs(t, err, test.Want, test.Says)
			if calls := server.Calls(); len(calls) != 1 || calls[0].KeyElsewhere {
				t.Errorf("%d calls, want one, with the key in its header alone", len(calls))
			}
			if response.Summary != "" || (response.Tokens == 0) != test.Free {
				t.Errorf("response is %+v", response)
			}
		})
	}
}

// Checks checks how a question about the model fails, and that the next one does not.
func (s Subject[P]) Checks(t *testing.T, tests map[string]Checking) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := s.Serve(t)
			server.NextModel(test.Answers...)
			p := s.Client(t, server.URL)
			if err := p.Check(t.Context()); test.Want != nil {
				failedAs(t, err, *test.Want, test.Says)
			} else if err != nil {
				t.Errorf("Check: %v", err)
			}
			if server.Checks() != len(test.Answers) || len(server.Calls()) != 0 {
				t.Errorf("%d questions, %d calls", server.Checks(), len(server.Calls()))
			}
			if err := p.Check(t.Context()); err != nil {
				t.Errorf("the next question: %v", err)
			}
		})
	}
}

func failedAs(t *testing.T, err error, want Outcome, says string) {
	t.Helper()
	got := Failed(t, err)
	if diff := cmp.Diff(want, Outcome{got.Category, got.Type, got.Status, got.RetryAfter, got.Quota}); diff != "" {
		t.Errorf("outcome of %q (-want +got):\n%s", got, diff)
	}
	if !strings.Contains(got.Message, says) {
		t.Errorf("message is %q, want it to say %q", got.Message, says)
	}
	if strings.Contains(got.Message, "the article\"") {
		t.Errorf("message %q repeats what was sent", got.Message)
	}
}

// Reads checks what is taken from an answer.
func (s Subject[P]) Reads(t *testing.T, tests map[string]Reading) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := s.Serve(t)
			server.Next(test.Answer)
			got, err := s.Client(t, server.URL).Generate(t.Context(), Article())
			if err != nil {
				t.Fatalf("Generate: %v", err)
			}
			want := provider.Response{Summary: "One.", Model: test.Model, Tokens: test.Tokens}
			if want.Tokens == 0 {
				want.Tokens = got.Tokens
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

// AnyErrorIsClassified checks what is made of any status, any body or one of these, and any time to wait.
func AnyErrorIsClassified(t *testing.T, bodies *rapid.Generator[[]byte],
	refused func(t *rapid.T, status int, header http.Header, body []byte) *failure.Error,
) {
	t.Helper()
	bodies = rapid.OneOf(rapid.SliceOf(rapid.Byte()), bodies)
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.IntRange(201, 599).Draw(t, "status")
		body := bodies.Draw(t, "body")
		got := refused(t, status, http.Header{"Retry-After": {rapid.String().Draw(t, "retry after")}}, body)
		if got.Category == "" || got.Category == v1alpha1.CategoryUnknown || got.Type == "" || got.Message == "" || got.Status < 200 {
			t.Errorf("failure is %+v", got)
		}
		if got.RetryAfter < 0 || got.RetryAfter > failure.MaxWait {
			t.Errorf("RetryAfter is %s", got.RetryAfter)
		}
	})
}
