// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"github.com/feed-operator/feed-operator/internal/pdftext"
)

// kind is how a body is read.
type kind int

const (
	kindOther kind = iota
	kindHTML
	kindText
	kindPDF
)

// typePDF is the type of PDF documents.
const typePDF = "application/pdf"

// kindOf decides how to read a body, and names its type. What the first bytes say beyond doubt
// counts more than the header, which is missing or wrong on many servers.
func kindOf(body []byte, contentType string) (kind, string) {
	declared, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		declared, _, _ = strings.Cut(contentType, ";")
		declared = strings.ToLower(strings.TrimSpace(declared))
	}
	sniffed, _, _ := strings.Cut(http.DetectContentType(body), ";")
	switch sniffed {
	case "text/html":
		return kindHTML, sniffed
	case typePDF:
		return kindPDF, sniffed
	case "text/plain", "text/xml", "application/octet-stream":
		// These are what is left when nothing else is found: the header knows better.
	default:
		return kindOther, sniffed
	}
	switch declared {
	case "text/html", "application/xhtml+xml":
		return kindHTML, declared
	case "text/plain":
		return kindText, declared
	case typePDF, "application/x-pdf":
		if pdftext.IsPDF(body) { // with something before its head
			return kindPDF, typePDF
		}
	case "text/xml", "application/xml":
		if hasRoot(body) {
			return kindHTML, declared
		}
	case "", "application/octet-stream", "application/unknown":
		switch {
		case hasRoot(body):
			return kindHTML, sniffed
		case sniffed == "text/plain":
			return kindText, sniffed
		}
		return kindOther, sniffed
	}
	return kindOther, printableType(declared)
}

// hasRoot reports whether an XML document begins as XHTML does.
func hasRoot(body []byte) bool {
	return bytes.Contains(bytes.ToLower(body[:min(len(body), 1024)]), []byte("<html"))
}

// printableType keeps of a server's word for a type what a type can consist of.
func printableType(name string) string {
	name = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return -1
	}, name)
	return name[:min(len(name), 100)]
}
