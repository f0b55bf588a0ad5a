// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/pdftext"
)

const (
	// maxDocument and maxDocumentPages are how large a PDF document is passed on: in bytes, and in pages. To
	// read thirty of them costs a model about what the longest text costs that it is asked with.
	maxDocument      = 5 << 20
	maxDocumentPages = 30
	// documentTime is how long the text of a document is looked for. It takes far less.
	documentTime = 30 * time.Second
)

// readDocument returns the text of a PDF document, and the document itself where it is small enough to be
// passed on. Without readers that take documents, one without text is a failure.
func readDocument(ctx context.Context, data []byte, from string, passOn bool) (text string, document []byte, err error) {
	found, err := pdfText(ctx, data)
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case errors.Is(err, pdftext.ErrLocked):
		return "", nil, unreadable(from, "cannot be opened without a password")
	case errors.Is(err, pdftext.ErrTooLarge), errors.Is(err, context.DeadlineExceeded):
		return "", nil, unreadable(from, "is too large to be read")
	case errors.Is(err, pdftext.ErrNoPDF):
		return "", nil, unreadable(from, "is damaged")
	case err != nil:
		return "", nil, err
	}
	text = withoutNavigation(found.Text)
	if len(data) <= maxDocument && found.Pages <= maxDocumentPages {
		document = data
	}
	if !isArticle(text) && (document == nil || !passOn) {
		return "", nil, unreadable(from, "has no text that can be read, because its pages are pictures, or its fonts do not "+
			"say what their characters mean. A provider that takes PDF documents, such as Gemini, OpenAI or Anthropic, "+
			fmt.Sprintf("reads such with up to %d pages and %d MiB", maxDocumentPages, maxDocument>>20))
	}
	return text, document, nil
}

// pdfText reads a document.
func pdfText(ctx context.Context, data []byte) (found pdftext.Document, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = failure.Panicked(value, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, documentTime)
	defer cancel()
	return pdftext.Read(ctx, data)
}

func unreadable(from, because string) error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, fmt.Sprintf("The PDF document at %s %s.", host(from), because))
}
