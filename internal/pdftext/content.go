// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"math"
	"reflect"
	"strings"
)

// chunk is a string that is drawn, as far as its place matters for reading it.
type chunk struct {
	text string
	// from and until are its ends along the line, across is where the line is; all in points.
	from, until, across float64
	// angle of the line, in degrees.
	angle int
	size  float64
	// artifact says that it is no part of the text, by the word of the document: a head, a page number.
	artifact bool
}

// matrix maps a point (x, y) to (a·x + c·y + e, b·x + d·y + f).
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

// before is the matrix that maps by m first, and then by n.
func (m matrix) before(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d,
		m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// graphics is what of the state of graphics matters for a text (ISO 32000-1, 9.3).
type graphics struct {
	page                                matrix
	font                                *font
	size, spacing, wordSpacing, leading float64
	scale, rise                         float64
}

// interpreter draws the contents of a page, and notes the strings.
type interpreter struct {
	file *file
	// fonts are by the place in memory of what describes them, which the file keeps until the end.
	fonts  map[uintptr]*font
	chunks []chunk

	graphics
	text, line matrix
	saved      []graphics
	// marks are the marked contents that are open; artifact says which of them are none of the text.
	marks []bool
}

// maxSaved bounds what a page may put away, and maxOperands what an operator may be given.
const (
	maxSaved    = 256
	maxOperands = 64
)

// page returns the strings of a page in the order in which they are drawn.
func (f *file) page(page dict, fonts map[uintptr]*font) []chunk {
	in := &interpreter{file: f, fonts: fonts, graphics: graphics{page: identity, scale: 1}, text: identity, line: identity}
	var parts [][]byte
	room := maxStream
	for _, part := range f.list(page[keyContents]) {
		if room <= 0 || !f.budget.token() {
			break
		}
		if found, ok := f.resolve(part).(stream); ok {
			content := f.decode(found)
			parts = append(parts, content[:min(len(content), room)])
			room -= len(content)
		}
	}
	in.run(bytes.Join(parts, []byte("\n")), f.dict(page[keyResources]), maxDepth/4)
	return in.chunks
}

func (in *interpreter) run(content []byte, resources dict, depth int) {
	lex := &lexer{data: content, budget: in.file.budget, content: true}
	var operands []any
	for {
		token := lex.object(maxDepth)
		word, ok := token.(operator)
		switch {
		case !ok && len(operands) < maxOperands:
			operands = append(operands, token)
			continue
		case !ok:
			continue
		case word == end || in.file.budget.text <= 0:
			return
		case word == "BI":
			lex.skipImage()
		case word == "Do":
			in.form(operands, resources, depth)
		case word == "Tf":
			in.setFont(operands, resources)
		default:
			in.operate(string(word), operands)
		}
		operands = operands[:0]
	}
}

// skipImage leaves out an image that is within the content.
func (l *lexer) skipImage() {
	for rest := l.data[l.pos:]; ; rest = l.data[l.pos:] {
		at := bytes.Index(rest, []byte("EI"))
		if at < 0 || !l.budget.token() {
			l.pos = len(l.data)
			return
		}
		l.pos += at + 2
		if at > 0 && isSpace(rest[at-1]) && (l.pos == len(l.data) || isSpace(l.data[l.pos])) {
			return
		}
	}
}

// form draws a form, which is a content of its own.
func (in *interpreter) form(operands []any, resources dict, depth int) {
	if len(operands) == 0 || depth == 0 {
		return
	}
	key, _ := operands[0].(name)
	form, ok := in.file.resolve(in.file.dict(resources["XObject"])[key]).(stream)
	if !ok || in.file.name(form.dict["Subtype"]) != "Form" {
		return
	}
	if own := in.file.dict(form.dict[keyResources]); own != nil {
		resources = own
	}
	outside, text, line, saved, marks := in.graphics, in.text, in.line, in.saved, in.marks
	if own := in.file.list(form.dict["Matrix"]); len(own) == 6 {
		in.graphics.page = matrixOf(own).before(in.graphics.page)
	}
	in.saved = nil
	in.run(in.file.decode(form), resources, depth-1)
	in.graphics, in.text, in.line, in.saved, in.marks = outside, text, line, saved, marks
}

func (in *interpreter) setFont(operands []any, resources dict) {
	if len(operands) < 2 {
		return
	}
	key, _ := operands[0].(name)
	in.size = numbers(operands[1:], 1)[0]
	described := in.file.dict(in.file.dict(resources["Font"])[key])
	at := reflect.ValueOf(described).Pointer()
	known, ok := in.fonts[at]
	if !ok {
		known = in.file.font(described)
		in.fonts[at] = known
	}
	in.graphics.font = known
}

// numbers returns so many operands, 0 for what is no number.
func numbers(operands []any, count int) []float64 {
	out := make([]float64, count)
	for i := range min(count, len(operands)) {
		out[i], _ = operands[i].(float64)
	}
	return out
}

func matrixOf(operands []any) matrix {
	n := numbers(operands, 6)
	return matrix{n[0], n[1], n[2], n[3], n[4], n[5]}
}

func (in *interpreter) operate(word string, operands []any) {
	switch word {
	case "q":
		if len(in.saved) < maxSaved {
			in.saved = append(in.saved, in.graphics)
		}
	case "Q":
		if last := len(in.saved) - 1; last >= 0 {
			in.graphics, in.saved = in.saved[last], in.saved[:last]
		}
	case "cm":
		in.page = matrixOf(operands).before(in.page)
	case "BMC", "BDC":
		if len(in.marks) < maxSaved {
			in.marks = append(in.marks, in.isArtifact() || len(operands) > 0 && operands[0] == name("Artifact"))
		}
	case "EMC":
		in.marks = in.marks[:max(0, len(in.marks)-1)]
	case "Tc":
		in.spacing = numbers(operands, 1)[0]
	case "Tw":
		in.wordSpacing = numbers(operands, 1)[0]
	case "Tz":
		in.scale = numbers(operands, 1)[0] / 100
	case "TL":
		in.leading = numbers(operands, 1)[0]
	case "Ts":
		in.rise = numbers(operands, 1)[0]
	default:
		in.place(word, operands)
	}
}

func (in *interpreter) isArtifact() bool { return len(in.marks) > 0 && in.marks[len(in.marks)-1] }

// place moves on the page, and draws.
func (in *interpreter) place(word string, operands []any) {
	switch word {
	case "BT":
		in.text, in.line = identity, identity
	case "Td", "TD":
		to := numbers(operands, 2)
		if word == "TD" {
			in.leading = -to[1]
		}
		in.nextLine(to[0], to[1])
	case "Tm":
		in.text = matrixOf(operands)
		in.line = in.text
	case "T*":
		in.nextLine(0, -in.leading)
	case "Tj":
		in.show(operands)
	case "'":
		in.nextLine(0, -in.leading)
		in.show(operands)
	case "\"":
		if len(operands) == 3 {
			spaces := numbers(operands, 2)
			in.wordSpacing, in.spacing = spaces[0], spaces[1]
			in.nextLine(0, -in.leading)
			in.show(operands[2:])
		}
	case "TJ":
		if len(operands) > 0 {
			parts, _ := operands[0].(array)
			in.show(parts)
		}
	}
}

func (in *interpreter) nextLine(x, y float64) {
	in.line = matrix{a: 1, d: 1, e: x, f: y}.before(in.line)
	in.text = in.line
}

// show draws strings; the numbers between them move on.
func (in *interpreter) show(parts []any) {
	if in.graphics.font == nil {
		return
	}
	for _, part := range parts {
		switch part := part.(type) {
		case float64:
			in.advance(-part / 1000 * in.size)
		case string:
			in.draw(part)
		}
	}
}

func (in *interpreter) advance(by float64) {
	in.text = matrix{a: 1, d: 1, e: by * in.scale}.before(in.text)
}

func (in *interpreter) draw(text string) {
	at := matrix{a: 1, d: 1, f: in.rise}.before(in.text).before(in.page)
	long := math.Hypot(at.a, at.b)
	if long == 0 || math.IsNaN(long) || math.IsInf(long, 0) {
		return
	}
	var out strings.Builder
	for glyph := range in.graphics.font.glyphs(text) {
		if in.file.budget.text -= len(glyph.text); in.file.budget.text < 0 || !in.file.budget.token() {
			break
		}
		out.WriteString(glyph.text)
		by := glyph.width/1000*in.size + in.spacing
		if glyph.space {
			by += in.wordSpacing
		}
		in.advance(by)
	}
	to := matrix{a: 1, d: 1, f: in.rise}.before(in.text).before(in.page)
	cos, sin := at.a/long, at.b/long
	along := func(m matrix) float64 { return m.e*cos + m.f*sin }
	if out.Len() == 0 {
		return
	}
	in.chunks = append(in.chunks, chunk{
		text: out.String(), from: along(at), until: along(to) - in.spacing*in.scale*long, across: at.f*cos - at.e*sin,
		angle: int(math.Round(math.Atan2(at.b, at.a) * 180 / math.Pi)), size: math.Abs(in.size) * math.Hypot(at.c, at.d),
		artifact: in.isArtifact(),
	})
}
