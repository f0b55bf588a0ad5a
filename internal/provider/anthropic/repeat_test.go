// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

// An article that has left no room in the model's window for an answer is too long.
func TestAWindowThatIsFull(t *testing.T) {
	t.Parallel()
	const (
		reason  = "model_context_window_exceeded"
		verdict = `{"screening":{"complete":true,"explanation":"Fine.","valuable":true},`
		long    = `"summary":"The council met on Tuesday and agreed on a new plan. Critics said that it`
	)
	server := subject.Serve(t)
	p := subject.Client(t, server.URL)

	request := providertest.Screened()
	request.Text = strings.Repeat("The council agreed on a plan for the year. ", 1000)
	server.Next(anthropictest.Stopped(reason, `{"summ`))
	if _, err := p.Generate(t.Context(), request); err != nil || len(server.Calls()) != 2 {
		t.Errorf("it is shortened: %d calls, then %v", len(server.Calls()), err)
	}

	request = providertest.Screened()
	request.MaxCharacters = 100
	server.Next(anthropictest.Stopped(reason, verdict+long))
	response, err := p.Generate(t.Context(), request)
	if err != nil || response.Summary != "The council met on Tuesday and agreed on a new plan." || len(server.Calls()) != 3 {
		t.Errorf("enough of a summary is accepted: %d calls, %+v, %v", len(server.Calls()), response, err)
	}

	server.Next(anthropictest.Stopped(reason, verdict))
	response, err = p.Generate(t.Context(), request)
	if got := providertest.Failed(t, err); got.Type != failure.TypeTooLong || response.Verdict == nil || len(server.Calls()) != 4 {
		t.Errorf("what is short already is not: %d calls, %+v, %v", len(server.Calls()), response, err)
	}
}
