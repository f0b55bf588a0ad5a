// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/pdftest"
)

// R2.5
func TestPDFDocuments(t *testing.T) {
	t.Parallel()
	const (
		release = "国土環境庁は、路線バスの運行経費に対する補助率を引き上げることを決定しました。"
		note    = "The ministry has published a report on its work of last year."
		pdf     = "application/pdf"
	)
	lines := []string{release}
	mapped := pdftest.Write(pdftest.Options{Font: pdftest.Mapped, Compressed: true}, lines)
	scanned := pdftest.Write(pdftest.Options{Scanned: true}, nil)
	long := pdftest.Write(pdftest.Options{Font: pdftest.Mapped}, append(make([][]string, maxDocumentPages), lines)...)
	tests := map[string]struct {
		data    []byte
		kind    string
		request Request
		// Either the text, without or with the document, or what the failure says.
		want     Article
		wantText string
	}{
		"text and document":                    {data: mapped, kind: pdf, want: Article{Text: release, Document: mapped}},
		"the feed's title":                     {data: mapped, kind: pdf, request: Request{Title: "T"}, want: Article{Title: "T", Text: release, Document: mapped}},
		"declared as bytes":                    {data: mapped, kind: "application/octet-stream", want: Article{Text: release, Document: mapped}},
		"text alone of a long one":             {data: long, kind: pdf, want: Article{Text: release}},
		"text alone of a large one":            {data: append(bytes.Clone(mapped), make([]byte, maxDocument)...), kind: pdf, request: Request{MaxBytes: maxDocument * 2}, want: Article{Text: release}},
		"scanned, for who reads documents":     {data: scanned, kind: pdf, request: Request{Documents: true}, want: Article{Document: scanned}},
		"scanned, for who reads texts":         {data: scanned, kind: pdf, wantText: "has no text that can be read"},
		"scanned, but the feed has a sentence": {data: scanned, kind: pdf, request: Request{FeedText: note}, want: Article{Text: note, FromFeed: true}},
		"scanned, and longer than is passed on": {
			data: pdftest.Write(pdftest.Options{Scanned: true}, make([][]string, maxDocumentPages+1)...), kind: pdf,
			request: Request{Documents: true}, wantText: "up to 30 pages",
		},
		"locked": {
			data: pdftest.Write(pdftest.Options{Password: "p"}, lines), kind: pdf, request: Request{Documents: true}, wantText: "cannot be opened without a password",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.request.URL = serve(t, 200, test.kind, string(test.data))
			got, err := newTestFetcher().Fetch(t.Context(), test.request)
			if test.wantText != "" {
				var failed *failure.Error
				if !errors.As(err, &failed) || failed.Type != failure.TypeUnsupported || !strings.Contains(failed.Message, test.wantText) {
					t.Fatalf("got %+v, %v; want a failure that says %q", got, err, test.wantText)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			hashed := []byte(test.want.Text)
			if len(hashed) == 0 {
				hashed = test.want.Document
			}
			sum := sha256.Sum256(hashed)
			test.want.Hash = hex.EncodeToString(sum[:])
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("article (-want +got):\n%s", diff)
			}
		})
	}
}
