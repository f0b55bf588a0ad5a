// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"errors"
	"fmt"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/pdftext"
)

// TypeNoReader is the type of the failure of a PDF document that could not be read, because there is no process to
// read such. It is no fault of the document.
const TypeNoReader = "NoReader"

// maxDocument and maxDocumentPages are how large a PDF document is passed on: in bytes, and in pages. To
// read thirty of them costs a model about what the longest text costs that it is asked with.
const (
	maxDocument      = 5 << 20
	maxDocumentPages = 30
)

// document returns what a PDF document has, for which there is room already. It waits until it is the turn of the owner
// of the room to have one read, by a process that reads one at a time. What waits for that is no work here, or a document
// that takes long would keep all pages waiting.
func (r Request) document(ctx context.Context, data []byte, from string) (found Article, err error) {
	held := int64(len(data))
	defer func() {
		if err != nil {
			r.Room.Shrink(held)
		}
	}()
	done, err := r.Room.Reader(ctx)
	if err != nil {
		return Article{}, err
	}
	defer done()
	read, err := pdftext.Read(ctx, data)
	if err != nil {
		return Article{}, documentFailure(ctx, from, err)
	}
	_, worked, err := r.Room.Work(ctx, smallest+copiesOfText*int64(len(read.Text)))
	if err != nil {
		return Article{}, err
	}
	defer worked()
	if found, err = articleOf(read, data, from, r.Documents); err != nil {
		return Article{}, err
	}
	found.Title = r.Title
	found = found.finished()
	if err := r.reserve(found.Weight() - held); err != nil {
		return Article{}, err
	}
	r.Room.Shrink(held - found.Weight())
	return found, nil
}

// articleOf returns the text of a PDF document, and the document itself where it is small enough to be
// passed on. Without readers that take documents, one without text is a failure.
func articleOf(read pdftext.Document, data []byte, from string, passOn bool) (found Article, _ error) {
	found.Text = withoutNavigation(read.Text)
	if len(data) <= maxDocument && read.Pages <= maxDocumentPages {
		found.Document = data
	}
	if !isArticle(found.Text) && (found.Document == nil || !passOn) {
		return Article{}, unreadable(from, "has no text that can be read, because its pages are pictures, or its fonts do not "+
			"say what their characters mean. A provider that takes PDF documents, such as Gemini, OpenAI or Anthropic, "+
			fmt.Sprintf("reads such with up to %d pages and %d MiB", maxDocumentPages, maxDocument>>20))
	}
	return found, nil
}

// documentFailure is the failure of a document that could not be read.
func documentFailure(ctx context.Context, from string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pdftext.ErrLocked):
		return unreadable(from, "cannot be opened without a password")
	case errors.Is(err, pdftext.ErrTooLarge):
		return unreadable(from, "is too large to be read")
	case errors.Is(err, pdftext.ErrNoPDF):
		return unreadable(from, "is damaged")
	case errors.Is(err, pdftext.ErrCrashed):
		return unreadable(from, "cannot be read: whatever reads it fails, or takes too much memory")
	}
	return failure.Wrap(v1alpha1.CategoryAPI, TypeNoReader,
		"PDF documents cannot be read at the moment, because the process that reads them does not start.", err)
}

func unreadable(from, because string) error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, fmt.Sprintf("The PDF document at %s %s.", host(from), because))
}
