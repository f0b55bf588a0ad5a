// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import "testing"

// R2.5
func TestKindOfABody(t *testing.T) {
	t.Parallel()
	const (
		page  = "<!DOCTYPE html><p>x"
		piece = "some words, <b>perhaps</b> a page"
		xhtml = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`
		png   = "\x89PNG\x0d\x0a\x1a\x0a"
	)
	tests := map[string]struct {
		body, contentType string
		want              kind
		wantName          string
	}{
		"a page":                               {page, "text/html; charset=utf-8", kindHTML, "text/html"},
		"a page by its header alone":           {piece, "Text/HTML", kindHTML, "text/html"},
		"a page by its bytes alone":            {page, "", kindHTML, "text/html"},
		"a page that is declared as text":      {page, "text/plain", kindHTML, "text/html"},
		"a page that is declared as an image":  {page, "image/png", kindHTML, "text/html"},
		"a page under a malformed header":      {piece, "text/html; charset=\"", kindHTML, "text/html"},
		"XHTML":                                {xhtml, "application/xhtml+xml", kindHTML, "application/xhtml+xml"},
		"XHTML that is declared as XML":        {xhtml, "application/xml", kindHTML, "application/xml"},
		"XHTML by its bytes alone":             {xhtml, "", kindHTML, "text/xml"},
		"another XML document":                 {"<?xml version='1.0'?><rss/>", "text/xml", kindOther, "text/xml"},
		"a text":                               {piece, "text/plain", kindText, "text/plain"},
		"a text by its bytes alone":            {piece, "", kindText, "text/plain"},
		"a text of an unknown type":            {piece, "application/octet-stream", kindText, "text/plain"},
		"a PDF document":                       {"%PDF-1.7", "application/pdf", kindPDF, "application/pdf"},
		"a PDF document declared as a page":    {"%PDF-1.7", "text/html", kindPDF, "application/pdf"},
		"a PDF document with something before": {"\r\n\r\n%PDF-1.7", "application/pdf", kindPDF, "application/pdf"},
		"a page declared as a PDF document":    {page, "application/pdf", kindHTML, "text/html"},
		"no PDF document, though declared":     {"\x00\x01", "application/pdf", kindOther, "application/pdf"},
		"an image":                             {png, "", kindOther, "image/png"},
		"a video":                              {"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "video/mp4", kindOther, "video/mp4"},
		"data":                                 {`{"a":1}`, "application/json", kindOther, "application/json"},
		"bytes":                                {"\x00\x01\x02", "", kindOther, "application/octet-stream"},
		"a type with a trick in its name":      {"\x00\x01", "a\u202e/b\x07", kindOther, "a/b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, gotName := kindOf([]byte(test.body), test.contentType)
			if got != test.want || gotName != test.wantName {
				t.Errorf("got %d %q, want %d %q", got, gotName, test.want, test.wantName)
			}
		})
	}
}
