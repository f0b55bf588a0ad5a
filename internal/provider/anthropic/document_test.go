// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/pdftest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R2.5: a document goes out as it is, in the place of its text. A model that does not take it, or finds it
// too long, gets the text.
func TestDocumentsAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	data := pdftest.Write(pdftest.Options{}, []string{"The council met on Tuesday."})
	tests := map[string]struct {
		answers []anthropictest.Answer
		text    string
		// With how many documents each call comes.
		want  []int
		fails bool
	}{
		"a document":                         {text: "What was read out of it.", want: []int{1}},
		"a document without a text":          {want: []int{1}},
		"a model that reads texts only":      {answers: []anthropictest.Answer{anthropictest.Error(http.StatusBadRequest, "invalid_request_error", "document: not supported by this model")}, text: "What was read out of it.", want: []int{1, 0}},
		"a document that is too long":        {answers: []anthropictest.Answer{anthropictest.TooLong()}, text: "What was read out of it.", want: []int{1, 0}},
		"refused, and there is nothing else": {answers: []anthropictest.Answer{anthropictest.Error(http.StatusBadRequest, "invalid_request_error", "document: not supported by this model")}, want: []int{1}, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t)
			server.Next(append(test.answers, anthropictest.Summary("The council has met."))...)
			request := article()
			request.Text, request.Document = test.text, &provider.Document{MIMEType: provider.MIMETypePDF, Data: data}
			got, err := newProvider(t, server.URL).Generate(t.Context(), request)
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
