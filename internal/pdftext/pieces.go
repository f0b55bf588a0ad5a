// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"errors"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// chunk is a piece of text that has no gaps, as far as its place matters for reading it.
type chunk struct {
	text string
	// from and until are its ends along the line, across is where the line is; all in points.
	from, until, across float64
	// angle of the line, in degrees.
	angle int
	size  float64
	// artifact is set if it is no part of the text, by the word of the document: a head, a page number.
	artifact bool
}

// page returns the pieces of a page in the order in which PDFium puts them, which is that in which they are drawn. With
// the error it returns those that were there before.
func (d *document) page(index int) ([]chunk, error) {
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.ref, Index: index})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}) }()
	opened, err := d.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &loaded.Page}})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = d.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: opened.TextPage}) }()
	count, err := d.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: opened.TextPage})
	if err != nil {
		return nil, err
	}
	p := &pageText{document: d, ref: opened.TextPage}
	for at := range count.Count {
		if err == nil && d.left > 0 && len(p.chunks) < maxPieces {
			err = p.add(at)
		}
	}
	return p.chunks, errors.Join(err, p.finish())
}

// pageText is the text of a page.
type pageText struct {
	*document
	ref    references.FPDF_TEXTPAGE
	chunks []chunk

	// Of the piece that goes on:
	text        strings.Builder
	first, last int  // its characters
	high        rune // the first half of a character, of a font that speaks UTF-16
}

// What PDFium writes for a hyphen at the end of a line, instead of the end.
const hyphen, hyphenToo = 0x2, 0xfffe

// add adds a character to the piece that goes on. Where PDFium has made a space or the end of a line out of a gap, a
// piece ends: the layout sees from the places what the gap means.
func (p *pageText) add(at int) error {
	char, err := p.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: p.ref, Index: at})
	if err != nil {
		return err
	}
	r := rune(char.Unicode) //nolint:gosec // what is none is replaced
	switch {
	case utf16.IsSurrogate(r) && p.high == 0:
		p.high = r
		return nil
	case p.high != 0:
		r, p.high = utf16.DecodeRune(p.high, r), 0
	}
	ends := false
	switch r {
	case 0:
		r = utf8.RuneError
	case ' ', '\r', '\n':
		made, err := p.FPDFText_IsGenerated(&requests.FPDFText_IsGenerated{TextPage: p.ref, Index: at})
		if err != nil {
			return err
		}
		if made.IsGenerated {
			return p.finish()
		}
	case hyphen, hyphenToo:
		r, ends = '-', true
	}
	if p.text.Len() == 0 {
		p.first = at
	}
	p.last = at
	written, _ := p.text.WriteRune(r)
	p.left -= written
	if ends {
		return p.finish()
	}
	return nil
}

// finish ends the piece that goes on, if there is one.
func (p *pageText) finish() error {
	if p.text.Len() == 0 {
		return nil
	}
	text := p.text.String()
	p.text.Reset()
	piece, err := p.begin(p.first)
	if err != nil {
		return err
	}
	sin, cos := math.Sincos(float64(piece.angle) * math.Pi / 180)
	origin, err := p.FPDFText_GetCharOrigin(&requests.FPDFText_GetCharOrigin{TextPage: p.ref, Index: p.first})
	if err != nil {
		return err
	}
	piece.from = origin.X*cos + origin.Y*sin
	piece.across = origin.Y*cos - origin.X*sin
	box, err := p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: p.ref, Index: p.last})
	if err != nil {
		return err
	}
	piece.until = piece.from
	for _, x := range []float32{box.Rect.Left, box.Rect.Right} {
		for _, y := range []float32{box.Rect.Bottom, box.Rect.Top} {
			along := float64(x)*cos + float64(y)*sin
			piece.until = max(piece.until, along)
		}
	}
	piece.text = text
	p.chunks = append(p.chunks, piece)
	return nil
}

// begin returns what a piece has from its first character.
func (p *pageText) begin(at int) (chunk, error) {
	drawn, err := p.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: p.ref, Index: at})
	if err != nil {
		return chunk{}, err
	}
	size, err := p.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: p.ref, Index: at})
	if err != nil {
		return chunk{}, err
	}
	m := drawn.Matrix
	return chunk{
		angle:    round(math.Atan2(float64(m.B), float64(m.A)) * 180 / math.Pi),
		size:     math.Abs(size.FontSize) * math.Hypot(float64(m.C), float64(m.D)),
		artifact: p.isArtifact(at),
	}, nil
}

// isArtifact reports whether an object is within marks that say so.
func (p *pageText) isArtifact(at int) bool {
	object, err := p.FPDFText_GetTextObject(&requests.FPDFText_GetTextObject{TextPage: p.ref, Index: at})
	if err != nil {
		return false
	}
	marks, err := p.FPDFPageObj_CountMarks(&requests.FPDFPageObj_CountMarks{PageObject: object.TextObject})
	if err != nil {
		return false
	}
	const most = 16
	for index := range min(marks.Count, most) {
		mark, err := p.FPDFPageObj_GetMark(&requests.FPDFPageObj_GetMark{PageObject: object.TextObject, Index: uint64(index)})
		if err != nil {
			return false
		}
		name, err := p.FPDFPageObjMark_GetName(&requests.FPDFPageObjMark_GetName{PageObjectMark: mark.Mark})
		if err == nil && strings.TrimRight(name.Name, "\x00") == "Artifact" {
			return true
		}
	}
	return false
}
