// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"errors"
	"io"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	// maxPDFium is how much memory PDFium may have for a document, the document included, in bytes.
	maxPDFium = 128 << 20
	pageSize  = 64 << 10 // of WebAssembly
	// maxPieces is how many pieces of text a page may have: characters at places of their own, at the worst.
	maxPieces = 100_000
)

// newPDFium compiles PDFium. That takes three seconds of a core and 300 MB at the most, of which 50 stay. To interpret it
// instead would take a third of a second and 180 MB, of which 150 stay, and ten times as long for each document.
func newPDFium() (reader, error) {
	compile, err := compiler()
	if err != nil {
		return nil, err
	}
	pool, err := webassembly.Init(webassembly.Config{
		MaxTotal: 1,
		FSConfig: wazero.NewFSConfig(), // no files: without one it would be all of them
		RuntimeConfig: compile.
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling). // what PDFium was built for
			WithMemoryLimitPages(maxPDFium / pageSize).
			// So that a page can be given up, and the end of the parent is noticed meanwhile. It costs most of the time
			// that a document takes: PDFium asks at each turn of a loop.
			WithCloseOnContextDone(true),
		Stdout: io.Discard,
		Stderr: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	return func(data []byte, timeout time.Duration) answer { return readWith(pool, data, timeout) }, nil
}

// readWith reads a document with an instance of PDFium that has read no other, so that none can tell of another.
func readWith(pool pdfium.Pool, data []byte, timeout time.Duration) (read answer) {
	defer func() {
		if recover() != nil { // PDFium is bounded, and what is around it may not expect that
			read = answer{outcome: tooLarge}
		}
	}()
	instance, err := pool.GetInstance(timeout)
	if err != nil {
		return answer{outcome: tooLarge}
	}
	overdue := time.AfterFunc(timeout, func() { _ = instance.Kill() })
	defer func() {
		if overdue.Stop() {
			_ = instance.Close()
		}
	}()
	opened, err := instance.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return answer{outcome: locked}
	case errors.Is(err, pdfiumerrors.ErrFormat), errors.Is(err, pdfiumerrors.ErrFile):
		return answer{outcome: notPDF}
	case err != nil:
		return answer{outcome: tooLarge}
	}
	d := &document{Pdfium: instance, ref: opened.Document, left: maxText}
	found, err := d.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: d.ref})
	if err != nil || found.PageCount <= 0 {
		return answer{outcome: notPDF}
	}
	var text pages
	count := min(found.PageCount, maxPages)
	for index := range count {
		chunks, err := d.page(index)
		text.add(chunks)
		if err != nil && d.broken() || d.left <= 0 {
			break
		}
	}
	whole := text.text()
	if whole == "" && len(text.lines) < count {
		return answer{outcome: tooLarge} // nothing was read in time, which does not say that there is nothing
	}
	return answer{wasRead, Document{Text: whole, Pages: count}}
}

// document is one that is open in PDFium.
type document struct {
	pdfium.Pdfium
	ref  references.FPDF_DOCUMENT
	left int // how long the text may still become, in bytes
}

// broken reports whether PDFium has trapped, or was killed, and not that a page is damaged.
func (d *document) broken() bool {
	_, err := d.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: d.ref})
	return err != nil
}
