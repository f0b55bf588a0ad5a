// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pdftext gets the text out of a PDF document (ISO 32000-1), as somebody would read it: words with
// their spaces, lines joined to paragraphs, without page numbers, heads and feet.
//
// It is made for documents that strangers write. What reading one may cost is bounded by what is counted
// while it is read, in bytes and in tokens, so that none can hang or fill the memory, whatever it says of
// itself; and a document that is damaged gives what can be had of it. It knows no images: a page that was
// scanned has no text here. It must never know the network, nor what the text is for.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Document is what there is to be read in a PDF document.
type Document struct {
	// Text is plain text, paragraphs are separated by an empty line. It is empty where there is none to be
	// had: the pages are images, or their fonts do not say what their characters mean.
	Text string
	// Pages is how many there are.
	Pages int
}

// Errors.
var (
	// ErrNoPDF says that the bytes are no PDF document, or have no page.
	ErrNoPDF = errors.New("no PDF document, or a damaged one")
	// ErrLocked says that the document cannot be read without a password.
	ErrLocked = errors.New("the PDF document is locked by a password")
	// ErrTooLarge says that the document has too many bytes.
	ErrTooLarge = errors.New("the PDF document is too large to be read")
)

// IsPDF says whether a file is a PDF document by its first bytes. Readers take ones with something
// before them.
func IsPDF(data []byte) bool {
	return bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-"))
}

// Read returns the text of a document. It ends with the context, and then has its error.
func Read(ctx context.Context, data []byte) (Document, error) {
	switch {
	case !IsPDF(data):
		return Document{}, ErrNoPDF
	case len(data) > maxFile:
		return Document{}, ErrTooLarge
	}
	f := open(data, newBudget(ctx))
	if f.cipher != nil && f.cipher.locked {
		return Document{}, ErrLocked
	}
	found := f.pages()
	fonts := map[uintptr]*font{}
	chunks := make([][]chunk, 0, len(found))
	for _, page := range found {
		chunks = append(chunks, f.page(page, fonts))
	}
	if err := ctx.Err(); err != nil {
		return Document{}, err
	}
	if len(found) == 0 {
		return Document{}, ErrNoPDF
	}
	withoutArtifacts(chunks)
	pages := make([][]line, 0, len(chunks))
	for _, page := range chunks {
		pages = append(pages, linesOf(page))
	}
	withoutFurniture(pages)
	texts := make([]string, 0, len(pages))
	for _, page := range pages {
		var out bytes.Buffer
		paragraphs(&out, page)
		if out.Len() > 0 {
			texts = append(texts, out.String())
		}
	}
	text := ligatures.Replace(strings.Join(texts, "\n\n"))
	if !isLegible(text) {
		text = ""
	}
	return Document{Text: strings.ToValidUTF8(text, ""), Pages: len(found)}, nil
}

// ligatures are written as the letters that they are.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// isLegible says whether most characters mean something. Fonts that do not say it leave signs of
// private use, of control, or of replacement.
func isLegible(text string) bool {
	lost, total := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			continue
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Co, r):
			lost++
		}
		total++
	}
	return total > 0 && lost*10 <= total
}
