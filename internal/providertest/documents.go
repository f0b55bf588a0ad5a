// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/pdftest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R2.5: a document goes out as it is, in the place of its text. A model that does not take it, or finds it
// too long, gets the text.
func (s Subject[P]) sendsDocuments(t *testing.T) {
	const readOut = "What was read out of it."
	data := pdftest.Write(pdftest.Options{}, []string{"The council met on Tuesday."})
	for name, test := range map[string]struct {
		refusals []aitest.Answer
		text     string
		// With how many documents each call comes.
		want  []int
		fails bool
	}{
		"a document":                         {text: readOut, want: []int{1}},
		"a document without a text":          {want: []int{1}},
		"a model that reads texts only":      {refusals: []aitest.Answer{s.NoDocuments}, text: readOut, want: []int{1, 0}},
		"a document that is too long":        {refusals: []aitest.Answer{s.TooLong}, text: readOut, want: []int{1, 0}},
		"refused, and there is nothing else": {refusals: []aitest.Answer{s.NoDocuments}, want: []int{1}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := s.Serve(t)
			server.Next(append(test.refusals, s.Summary("The council has met."))...)
			cfg := s.Config(server.URL)
			if s.WithDocuments != nil {
				cfg = s.WithDocuments(cfg)
			}
			request := Article()
			request.Text, request.Document = test.text, &provider.Document{MIMEType: provider.MIMETypePDF, Data: data}
			got, err := s.made(t, cfg).Generate(t.Context(), request)
			if (err != nil) != test.fails || err == nil && got.Summary != "The council has met." {
				t.Fatalf("got %+v, %v", got, err)
			}
			calls := server.Calls()
			if len(calls) != len(test.want) {
				t.Fatalf("%d calls, want %d", len(calls), len(test.want))
			}
			for i, call := range calls {
				if len(call.Documents) != test.want[i] || call.Malformed || len(call.Documents) == 1 && !bytes.Equal(call.Documents[0].Data, data) {
					t.Errorf("call %d came with %d documents, want %d as it is", i+1, len(call.Documents), test.want[i])
				}
				if hasText := test.text != "" && strings.Contains(call.User, test.text); hasText != (test.want[i] == 0) {
					t.Errorf("call %d: the text is there: %t", i+1, hasText)
				}
			}
		})
	}
}
