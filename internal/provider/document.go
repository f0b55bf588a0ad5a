// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// MIMETypePDF is the type of PDF documents.
const MIMETypePDF = "application/pdf"

// Document is a file that an article was read out of, for providers that read such files better than any
// text that was taken out of them: with their tables, or at all, where the pages are pictures.
type Document struct {
	// MIMEType of the file. So far, all are MIMETypePDF.
	MIMEType string
	// Data is the file. It must not be changed.
	Data []byte
}

// WithoutDocument returns the request for a provider that reads texts only, or the failure that there is none.
func (r Request) WithoutDocument() (Request, error) {
	if r.Document != nil && strip(r.Text+r.Description) == "" {
		return r, failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			"The article is a PDF document without a text, which this provider cannot read. Gemini, OpenAI and Anthropic can.")
	}
	r.Document = nil
	return r, nil
}
