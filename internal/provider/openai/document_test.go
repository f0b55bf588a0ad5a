// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/pdftest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R2.5: a document goes out as it is, in the place of its text. A model that does not take it, or finds it
// too long, gets the text.
func TestDocumentsAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	data := pdftest.Write(pdftest.Options{}, []string{"The council met on Tuesday."})
	tests := map[string]struct {
		answers []openaitest.Answer
		text    string
		// With how many documents each call comes.
		want  []int
		fails bool
	}{
		"a document":                         {text: "What was read out of it.", want: []int{1}},
		"a document without a text":          {want: []int{1}},
		"a model that reads texts only":      {answers: []openaitest.Answer{openaitest.Error(http.StatusBadRequest, "invalid_request_error", "", "This model does not support file content types.")}, text: "What was read out of it.", want: []int{1, 0}},
		"a document that is too long":        {answers: []openaitest.Answer{openaitest.TooLong()}, text: "What was read out of it.", want: []int{1, 0}},
		"refused, and there is nothing else": {answers: []openaitest.Answer{openaitest.Error(http.StatusBadRequest, "invalid_request_error", "", "This model does not support file content types.")}, want: []int{1}, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t)
			server.Next(append(test.answers, openaitest.Summary("The council has met."))...)
			request := article()
			request.Text, request.Document = test.text, &provider.Document{MIMEType: provider.MIMETypePDF, Data: data}
			got, err := newOpenAI(t, server).Generate(t.Context(), request)
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

// R2.5: of the servers that speak the API, few take documents.
func TestOtherServersGetTheText(t *testing.T) {
	t.Parallel()
	server := serve(t)
	request := article()
	request.Document = &provider.Document{MIMEType: provider.MIMETypePDF, Data: pdftest.Write(pdftest.Options{}, []string{"x"})}
	p := newProvider(t, server.URL)
	if _, err := p.Generate(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if call := server.Calls()[0]; len(call.Documents) != 0 || !strings.Contains(call.User, request.Text) {
		t.Errorf("%d documents, and the prompt\n%s", len(call.Documents), call.User)
	}
	request.Text = ""
	if _, err := p.Generate(t.Context(), request); failed(t, err).Type != "Unsupported" || len(server.Calls()) != 1 {
		t.Errorf("a document without a text: %v after %d calls", err, len(server.Calls()))
	}
}
