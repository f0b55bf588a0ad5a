// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/pdftest"
)

// R2.5, R6.5: a document without a text goes to a provider that reads documents, as the operator passes it on;
// without such a provider the item is deferred.
func TestAScannedDocumentIsReadByWhoCan(t *testing.T) {
	t.Parallel()
	document := pdftest.Write(pdftest.Options{Scanned: true}, nil)
	for name, test := range map[string]struct {
		spec  string
		calls int
		says  string
	}{
		"the writer reads documents":              {"providers: [{name: gemini}]", 1, "by gemini (gemini-2.5-flash, "},
		"one that stands in reads them":           {"providers: [{name: gone}, {name: gemini}]", 1, "by gemini (gemini-2.5-flash, "},
		"the judge reads them, the writer cannot": {"providers: [{name: built-in}]\n  screening: {criteria: New rules, providers: [{name: gemini}]}", 1, "says gemini"},
		"nobody reads them":                       {"providers: [{name: built-in}]", 0, "(DownloadFailed): The PDF document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web, ai := feedtest.New(t), newGemini(t)
			web.List(web.Entries("news", 1)...)
			web.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/articles/") {
					return false
				}
				w.Header().Set("Content-Type", "application/pdf")
				_, _ = w.Write(document)
				return true
			})
			said, err := show(t, newPreviewer(t, gemini(ai)+source(web, test.spec)))
			if err != nil {
				t.Fatal(err)
			}
			mustContain(t, said, test.says)
			calls := ai.Calls()
			if len(calls) != test.calls {
				t.Fatalf("%d calls, want %d", len(calls), test.calls)
			}
			if test.calls > 0 {
				mustContain(t, said, "a PDF document without a text, from the page")
				if len(calls[0].Documents) != 1 || !bytes.Equal(calls[0].Documents[0].Data, document) {
					t.Errorf("the call has %d documents, want the one of the page", len(calls[0].Documents))
				}
			}
		})
	}
}
