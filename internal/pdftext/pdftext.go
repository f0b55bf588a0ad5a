// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pdftext gets the text out of a PDF document (ISO 32000-1), as somebody would read it: words with
// their spaces, lines joined to paragraphs, without page numbers, heads and feet.
//
// It is made for documents that strangers write. PDFium, compiled to WebAssembly, reads them in a process of
// its own: this program, started again by [Main] as its only command line says. That process has no environment, no
// files, no network, and bounds for its memory and for the time of a document. Whatever a document does to it
// is a failure of that document alone; the next one gets another process. It is started when there is a
// document to read, reads one at a time, and ends when it has been idle for a while, or when its parent has ended.
//
//   - pdftext.go, process.go: what callers see, and the process as its parent knows it; frame.go: what both say.
//   - serve.go, confine_*.go: what that process does, and what it cannot.
//   - pdfium.go, pieces.go, layout.go, pages.go: from PDFium to pieces of text with their places, lines, paragraphs, pages.
//
// The package knows no images: a page that was scanned has no text here. It must never know the network, nor
// what the text is for, nor who asks for it.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Document is what there is to be read in a PDF document.
type Document struct {
	// Text is plain text, paragraphs are separated by an empty line. It is empty where there is none to be
	// had: the pages are images, or their fonts do not say what their characters mean.
	Text string
	// Pages is how many there are; more than are read count as those that are.
	Pages int
}

// Errors of documents.
var (
	// ErrNoPDF means that the bytes are no PDF document, or have no page.
	ErrNoPDF = errors.New("no PDF document, or a damaged one")
	// ErrLocked means that the document cannot be read without a password.
	ErrLocked = errors.New("the PDF document is locked by a password")
	// ErrTooLarge means that the document has too many bytes, or takes too much memory or time.
	ErrTooLarge = errors.New("the PDF document is too large to be read")
	// ErrCrashed means that reading the document ended the process that did it.
	ErrCrashed = errors.New("the PDF document cannot be read: the process that tried to has ended")
)

// ErrUnavailable means that there is no process to read documents at the moment. It is no fault of the document.
var ErrUnavailable = errors.New("PDF documents cannot be read at the moment")

// Memory is how much memory the process takes at most that reads documents, in bytes: for some seconds when it starts,
// and less from then on.
const Memory = 320 << 20

// Bounds of a document. What is above those but the first is not read, and what was read until then stays.
const (
	// maxFile is how large a document may be, in bytes.
	maxFile = 32 << 20
	// maxPages is how many pages are read.
	maxPages = 500
	// maxText is how long the text may become, in bytes: some 300,000 Japanese characters.
	maxText = 1 << 20
	// readingTime is how long a document is read.
	readingTime = 20 * time.Second
)

// command is the command line of the process that reads documents, after the name of the program. No flag and
// no variable has the same effect.
const command = "read-pdf"

// ours is the process of this program. It is there when Main has been called.
var ours = newProcess(itself, usual)

// hosted means that Main was called. Without it, this program would do something else when it is started again to read
// documents.
var hosted bool

// Main must be the first thing that the program does, or the tests of a package, where documents are to be read.
// Where the program was started in order to read them, it does that, and then ends it.
func Main() {
	if len(os.Args) == 2 && os.Args[1] == command {
		os.Exit(serve(os.Stdin, os.Stdout, confine, newPDFium))
	}
	start()
}

// start has documents read in the background: from now on, so that what is done there belongs to nobody who asks later.
var start = sync.OnceFunc(func() {
	hosted = true
	go ours.run()
})

// IsPDF reports whether a file is a PDF document by its first bytes. Readers take ones with something
// before them.
func IsPDF(data []byte) bool {
	return bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-"))
}

// Read returns the text of a document. It waits until those before it are read, and ends with the context: then it
// has its error.
func Read(ctx context.Context, data []byte) (Document, error) {
	switch {
	case !IsPDF(data):
		return Document{}, ErrNoPDF
	case len(data) > maxFile:
		return Document{}, ErrTooLarge
	case !hosted:
		return Document{}, fmt.Errorf("%w: this program does not begin with pdftext.Main", ErrUnavailable)
	}
	return ours.read(ctx, data)
}

// plain makes sure of what a process says that a hostile document may have taken over.
func plain(text string, pages int) Document {
	text = text[:min(len(text), maxText)]
	return Document{Text: strings.ToValidUTF8(text, ""), Pages: min(max(pages, 0), maxPages)}
}
