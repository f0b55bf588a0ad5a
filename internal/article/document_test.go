// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/pdftest"
	"github.com/feed-operator/feed-operator/internal/pdftext"
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

// R1.10, R3.13: a document that waits for its turn to be read keeps nobody from working, and holds its own bytes. Then the
// article holds its weight, and a document that is no article holds nothing.
func TestADocumentHoldsItsRoomOnly(t *testing.T) {
	t.Parallel()
	lines := []string{"The council met on Tuesday, and decided to open the bridge again."}
	for name, options := range map[string]pdftest.Options{"an article": {}, "none": {Password: "p"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := pdftest.Write(options, lines)
			fetcher := newTestFetcher()
			busy := fetcher.Budget().Document("busy")
			read, err := busy.Reader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			room := fetcher.Budget().Document("waits")
			url := serve(t, 200, "application/pdf", string(data))
			type result struct {
				found Article
				err   error
			}
			fetched := make(chan result, 1)
			go func() {
				found, err := fetcher.Fetch(t.Context(), Request{URL: url, Room: room})
				fetched <- result{found, err}
			}()
			patience, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for fetcher.Budget().Usage() != (budget.Usage{Documents: int64(len(data))}) {
				if patience.Err() != nil {
					t.Fatalf("while it waits, %+v is held", fetcher.Budget().Usage())
				}
				runtime.Gosched()
			}
			_, worked, err := busy.Work(t.Context(), busy.Most())
			if err != nil {
				t.Fatal(err)
			}
			worked()
			read()
			got := <-fetched
			if want := got.found.Weight(); room.Held() != want || (got.err == nil) != (want > 0) {
				t.Errorf("%d bytes are held, of %d: %v", room.Held(), want, got.err)
			}
		})
	}
}

// R2.5: what is wrong with a document is final, and that there is nobody to read it is not, nor a fault of its host.
func TestFailuresOfDocuments(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct {
		kind string
		text string
	}{
		pdftext.ErrNoPDF:       {failure.TypeUnsupported, "is damaged"},
		pdftext.ErrLocked:      {failure.TypeUnsupported, "cannot be opened without a password"},
		pdftext.ErrTooLarge:    {failure.TypeUnsupported, "is too large to be read"},
		pdftext.ErrCrashed:     {failure.TypeUnsupported, "cannot be read"},
		pdftext.ErrUnavailable: {TypeNoReader, "PDF documents cannot be read at the moment"},
	} {
		got := failure.Classify(documentFailure(t.Context(), "https://example.com/a.pdf", fmt.Errorf("wrapped: %w", err)))
		if got.Type != want.kind || !strings.Contains(got.Message, want.text) || failure.Retryable(got.Category) != (want.kind == TypeNoReader) {
			t.Errorf("%v becomes %+v", err, got)
		}
		if outbound.ReachOf(got) != outbound.Reached {
			t.Errorf("%v counts against the host", err)
		}
	}
}
