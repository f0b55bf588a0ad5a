// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pdftest gives tests PDF documents of the sorts that people publish: with fonts that say what
// their characters mean, in the encodings of a language, compressed, encrypted, or scanned. It knows
// nothing of what it helps to test.
package pdftest

import (
	"bytes"
	"compress/zlib"
	"crypto/md5" //nolint:gosec // the format demands it
	"crypto/rc4" //nolint:gosec // the format demands it
	"fmt"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/japanese"
)

// Font is how the characters of a text are written down.
type Font int

// Fonts.
const (
	// Latin is a font with one byte for each character, in the encoding of Windows.
	Latin Font = iota
	// Mapped is a font with numbers of glyphs, and a table of what they mean.
	Mapped
	// Unmapped is the same without the table.
	Unmapped
	// ShiftJIS is a Japanese font that is not embedded.
	ShiftJIS
	// Collection is a Japanese font with numbers of glyphs that Adobe-Japan1 says the meaning of, and no table. It has
	// hiragana, katakana and the full stop.
	Collection
)

// Options say what sort of document is wanted.
type Options struct {
	Font Font
	// Compressed documents have compressed pages, and most of their objects in a compressed stream.
	Compressed bool
	// Scanned documents have a picture of the text.
	Scanned bool
	// Encrypted documents can be opened by anybody, but not changed.
	Encrypted bool
	// Password is needed to open the document.
	Password string
	// Damaged documents have no table of where their objects are.
	Damaged bool
}

// Write returns a document with these pages. An empty line is a gap between paragraphs.
func Write(options Options, pages ...[]string) []byte {
	w := &writer{options: options}
	if options.Encrypted || options.Password != "" {
		w.key, w.owner, w.user = keyOf(options.Password)
	}
	const first = 10 // the objects before it have fixed numbers
	kids := make([]string, 0, len(pages))
	for i, lines := range pages {
		number := first + 2*i
		kids = append(kids, fmt.Sprintf("%d 0 R", number))
		w.object(number, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R >>", number+1))
		w.stream(number+1, "", w.content(lines))
	}
	w.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	w.object(2, fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] /Resources << /Font << /F1 3 0 R >> /XObject << /Im1 6 0 R >> >> >>",
		len(pages), strings.Join(kids, " ")))
	w.font()
	w.stream(6, "/Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceGray /BitsPerComponent 8", "\x00\xff\xff\x00")
	return w.finish(first + 2*len(pages))
}

type writer struct {
	options  Options
	out      bytes.Buffer
	packed   []string // number and text of objects that go into a stream
	offsets  map[int]int
	key      []byte
	owner    string
	user     string
	glyphs   []rune
	numberOf map[rune]int
}

func (w *writer) object(number int, body string) {
	if w.options.Compressed && w.key == nil {
		w.packed = append(w.packed, fmt.Sprint(number), body)
		return
	}
	w.define(number, body)
}

func (w *writer) define(number int, body string) {
	if w.offsets == nil {
		w.offsets = map[int]int{}
		w.out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	}
	w.offsets[number] = w.out.Len()
	fmt.Fprintf(&w.out, "%d 0 obj\n%s\nendobj\n", number, body)
}

func (w *writer) stream(number int, entries, body string) {
	if w.options.Compressed {
		var packed bytes.Buffer
		out := zlib.NewWriter(&packed)
		_, _ = out.Write([]byte(body))
		_ = out.Close()
		entries, body = entries+" /Filter /FlateDecode", packed.String()
	}
	if w.key != nil {
		body = w.encrypt(number, body)
	}
	w.define(number, fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(body), entries, body))
}

// encrypt encrypts the bytes of a stream (ISO 32000-1, 7.6.2).
func (w *writer) encrypt(number int, body string) string {
	salted := append(bytes.Clone(w.key), byte(number), byte(number>>8), 0, 0, 0) //nolint:gosec // small
	sum := md5.Sum(salted)                                                       //nolint:gosec // as above
	return arcFour(sum[:min(len(w.key)+5, 16)], body)
}

// content is what draws the lines of a page.
func (w *writer) content(lines []string) string {
	var out strings.Builder
	if w.options.Scanned {
		return "q 595 0 0 842 0 0 cm /Im1 Do Q"
	}
	out.WriteString("BT /F1 12 Tf 18 TL 1 0 0 1 72 780 Tm\n")
	for _, line := range lines {
		if line != "" {
			fmt.Fprintf(&out, "<%x> Tj ", w.encode(line))
		}
		out.WriteString("T*\n")
	}
	out.WriteString("ET")
	return out.String()
}

func (w *writer) encode(line string) string {
	switch w.options.Font {
	case ShiftJIS:
		encoded, err := japanese.ShiftJIS.NewEncoder().String(line)
		if err != nil {
			panic(err)
		}
		return encoded
	case Mapped, Unmapped:
		var out []byte
		for _, r := range line {
			if w.numberOf == nil {
				w.numberOf = map[rune]int{}
			}
			if w.numberOf[r] == 0 {
				w.glyphs = append(w.glyphs, r)
				w.numberOf[r] = len(w.glyphs)
			}
			out = append(out, byte(w.numberOf[r]>>8), byte(w.numberOf[r])) //nolint:gosec // two bytes
		}
		return string(out)
	case Collection:
		var out []byte
		for _, r := range line {
			number := collected(r)
			out = append(out, byte(number>>8), byte(number)) //nolint:gosec // two bytes
		}
		return string(out)
	case Latin:
	}
	return line
}

// collected is the number of a glyph in Adobe-Japan1 (Adobe Technical Note 5078).
func collected(r rune) int {
	switch {
	case r >= 'ぁ' && r <= 'ん':
		return 842 + int(r-'ぁ')
	case r >= 'ァ' && r <= 'ヶ':
		return 925 + int(r-'ァ')
	}
	return 635
}

func (w *writer) font() {
	switch w.options.Font {
	case Latin:
		w.object(3, "<< /Type /Font /Subtype /TrueType /BaseFont /Arial /Encoding /WinAnsiEncoding >>")
	case ShiftJIS:
		w.object(3, "<< /Type /Font /Subtype /Type0 /BaseFont /MS-Mincho /Encoding /90ms-RKSJ-H /DescendantFonts [4 0 R] >>")
		w.object(4, "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /MS-Mincho /DW 1000 >>")
	case Collection:
		w.object(3, "<< /Type /Font /Subtype /Type0 /BaseFont /Mincho /Encoding /Identity-H /DescendantFonts [4 0 R] >>")
		w.object(4, "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Mincho /DW 1000 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>")
	case Unmapped:
		w.object(3, "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [4 0 R] >>")
		w.object(4, "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 1000 >>")
	case Mapped:
		w.object(3, "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>")
		w.object(4, "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 1000 >>")
		var out strings.Builder
		fmt.Fprintf(&out, "/CIDInit /ProcSet findresource begin begincmap\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n%d beginbfchar\n", len(w.glyphs))
		for i, r := range w.glyphs {
			fmt.Fprintf(&out, "<%04X> <", i+1)
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, "%04X", unit)
			}
			out.WriteString(">\n")
		}
		out.WriteString("endbfchar endcmap end end")
		w.stream(5, "", out.String())
	}
}

// finish writes the packed objects, the table and the trailer.
func (w *writer) finish(next int) []byte {
	if len(w.packed) > 0 {
		var head, body strings.Builder
		for i := 0; i < len(w.packed); i += 2 {
			fmt.Fprintf(&head, "%s %d ", w.packed[i], body.Len())
			body.WriteString(w.packed[i+1] + "\n")
		}
		w.stream(next, fmt.Sprintf("/Type /ObjStm /N %d /First %d", len(w.packed)/2, head.Len()), head.String()+body.String())
	}
	trailer := fmt.Sprintf("/Size %d /Root 1 0 R", next+1)
	if w.key != nil {
		w.define(7, fmt.Sprintf("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -3904 /O <%x> /U <%x> >>", w.owner, w.user))
		trailer += fmt.Sprintf(" /Encrypt 7 0 R /ID [<%x> <%x>]", fileID, fileID)
	}
	start := w.out.Len()
	if !w.options.Damaged {
		w.out.WriteString("xref\n")
		for number := range next + 1 {
			if offset, ok := w.offsets[number]; ok {
				fmt.Fprintf(&w.out, "%d 1\n%010d 00000 n \n", number, offset)
			}
		}
	}
	fmt.Fprintf(&w.out, "trailer\n<< %s >>\nstartxref\n%d\n%%%%EOF\n", trailer, start)
	return w.out.Bytes()
}

const (
	fileID = "0123456789abcdef"
	pad    = "\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a"
)

// keyOf makes the key of a document that is encrypted with 128 bits (ISO 32000-1, 7.6.3), and what the
// document says of it.
func keyOf(password string) (key []byte, owner, user string) {
	owner = strings.Repeat("o", 32)
	sum := md5.Sum([]byte((password + pad)[:32] + owner + "\xc0\xf0\xff\xff" + fileID)) //nolint:gosec // as above
	for range 50 {
		sum = md5.Sum(sum[:]) //nolint:gosec // as above
	}
	key = bytes.Clone(sum[:])
	check := md5.Sum([]byte(pad + fileID)) //nolint:gosec // as above
	user = string(check[:])
	for round := range 20 {
		turned := bytes.Clone(key)
		for i := range turned {
			turned[i] ^= byte(round)
		}
		user = arcFour(turned, user)
	}
	return key, owner, user + strings.Repeat("\x00", 16)
}

func arcFour(key []byte, text string) string {
	keyed, err := rc4.NewCipher(key) //nolint:gosec // as above
	if err != nil {
		panic(err)
	}
	out := make([]byte, len(text))
	keyed.XORKeyStream(out, []byte(text))
	return string(out)
}
