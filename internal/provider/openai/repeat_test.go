// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"testing"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

func TestThoughtsThatBrokeOff(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	p := subject.Client(t, server.URL)
	server.Next(openaitest.Length("<think>Let me see."), openaitest.Summary("All of it."))
	if response, err := p.Generate(t.Context(), providertest.Screened()); err != nil || response.Summary != "All of it." || len(server.Calls()) != 2 {
		t.Errorf("thoughts without an end: %d calls, %+v, %v", len(server.Calls()), response, err)
	}
	server.Next(openaitest.Length(`<think>Hm.</think>{"screening":{"complete":true,"explanation":"A ceremony.","valuable":false},"summ`))
	if response, err := p.Generate(t.Context(), providertest.Screened()); err != nil || !response.Verdict.Against() || len(server.Calls()) != 3 {
		t.Errorf("a verdict after thoughts: %d calls, %+v, %v", len(server.Calls()), response, err)
	}
}

// The same again would end the same where the server decides how much room there is.
func TestWithoutALimitThereIsNoMoreRoom(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	server.Next(openaitest.Unsupported("max_tokens", ""), openaitest.Unsupported("max_completion_tokens", ""), openaitest.Length(`{"summary":"It`))
	_, err := subject.Client(t, server.URL).Generate(t.Context(), providertest.Article())
	if got := providertest.Failed(t, err); got.Type != failure.TypeTruncated || len(server.Calls()) != 3 {
		t.Errorf("%d calls, then %s", len(server.Calls()), got.Type)
	}
}

// A limit that is too high for a second try is not given up for the first ones.
func TestTooMuchRoomForASecondTryIsNotRemembered(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	server.Next(openaitest.Length(`{"summary":"It`), openaitest.Error(400, "", "", "max_tokens is too large: 32768."))
	p := subject.Client(t, server.URL)
	_, err := p.Generate(t.Context(), providertest.Article())
	if got := providertest.Failed(t, err); got.Type != failure.TypeTruncated {
		t.Errorf("failure is %s", got.Type)
	}
	if _, err := p.Generate(t.Context(), providertest.Article()); err != nil || server.Calls()[2].Room != modelapi.OutputTokens {
		t.Errorf("%v; calls %+v", err, server.Calls())
	}
}
