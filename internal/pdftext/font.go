// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// font says what the codes in the strings of a page mean, and how wide they are.
type font struct {
	// composite fonts have codes of several bytes.
	composite bool
	// size of a composite font's code in bytes; 0 leaves it to the charset.
	size      int
	charset   encoding.Encoding
	toUnicode *cmap
	simple    [256]string
	widths    []width
	// usual is the width of what widths does not name, in thousandths of the font's size.
	usual float64
}

// width of a run of codes.
type width struct {
	from, until uint32
	width       float64
}

// glyph is one code of a string.
type glyph struct {
	text  string
	width float64
	// space says that this is a space of one byte, to which the word spacing is added.
	space bool
}

// charsets are what the predefined encodings of composite fonts are made of, by the beginning of
// their names (ISO 32000-1, 9.7.5.2). Where nothing is embedded, as in many documents of authorities,
// this is all that tells what the text is.
var charsets = []struct {
	prefix  string
	charset encoding.Encoding
	size    int
}{
	{"UniJIS", twoBytes, 2}, {"UniGB", twoBytes, 2}, {"UniCNS", twoBytes, 2}, {"UniKS", twoBytes, 2},
	{"90ms", japanese.ShiftJIS, 0}, {"90pv", japanese.ShiftJIS, 0}, {"83pv", japanese.ShiftJIS, 0}, {"Add-RKSJ", japanese.ShiftJIS, 0},
	{"Ext-RKSJ", japanese.ShiftJIS, 0}, {"EUC-", japanese.EUCJP, 0},
	{"GBK", simplifiedchinese.GBK, 0}, {"GBpc", simplifiedchinese.GBK, 0}, {"GB-EUC", simplifiedchinese.GBK, 0},
	{"KSC", korean.EUCKR, 0}, {"ETen", traditionalchinese.Big5, 0}, {"B5", traditionalchinese.Big5, 0}, {"HKscs", traditionalchinese.Big5, 0},
}

var twoBytes = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)

func (f *file) font(described dict) *font {
	this := &font{usual: 500}
	f.budget.spend(fontCost)
	if encoded, ok := f.resolve(described["ToUnicode"]).(stream); ok {
		this.toUnicode = readCMap(f.decode(encoded), f.budget)
	}
	if f.name(described["Subtype"]) == "Type0" {
		f.composite(this, described)
	} else {
		f.single(this, described)
	}
	slices.SortStableFunc(this.widths, func(x, y width) int { return cmp.Compare(x.from, y.from) })
	return this
}

func (f *file) composite(this *font, described dict) {
	this.composite, this.size, this.usual = true, 2, 1000
	switch encoded := f.resolve(described[keyEncoding]).(type) {
	case name:
		for _, known := range charsets {
			if strings.HasPrefix(string(encoded), known.prefix) {
				this.charset, this.size = known.charset, known.size
				break
			}
		}
	case stream:
		if size := readCMap(f.decode(encoded), f.budget).size; size > 0 {
			this.size = size
		}
	}
	if this.charset != nil {
		return // the widths go by numbers of glyphs, which the codes are not
	}
	descendants := f.list(described["DescendantFonts"])
	if len(descendants) == 0 {
		return
	}
	descendant := f.dict(descendants[0])
	if usual, ok := f.number(descendant["DW"]); ok {
		this.usual = usual
	}
	listed := f.list(descendant["W"])
	f.budget.spend(len(listed))
	for i := 0; i+1 < len(listed) && f.budget.token(); {
		from, ok := f.number(listed[i])
		if !ok || from < 0 || from > 65535 {
			return
		}
		if each, ok := f.resolve(listed[i+1]).(array); ok {
			for j, value := range each {
				if !f.budget.token() {
					return
				}
				wide, _ := f.number(value)
				this.widths = append(this.widths, width{uint32(from) + uint32(j), uint32(from) + uint32(j), wide})
			}
			i += 2
			continue
		}
		if i+2 >= len(listed) {
			return
		}
		until, _ := f.number(listed[i+1])
		wide, _ := f.number(listed[i+2])
		this.widths = append(this.widths, width{uint32(from), uint32(min(max(until, 0), 65535)), wide})
		i += 3
	}
}

func (f *file) single(this *font, described dict) {
	base, differences := f.name(described[keyEncoding]), array(nil)
	if detailed := f.dict(described[keyEncoding]); detailed != nil {
		base, differences = f.name(detailed["BaseEncoding"]), f.list(detailed["Differences"])
	}
	table := charmap.Windows1252
	if base == "MacRomanEncoding" {
		table = charmap.Macintosh
	}
	for code := range this.simple {
		this.simple[code] = string(table.DecodeByte(byte(code)))
	}
	if base == "" {
		for code, text := range standard {
			this.simple[code] = text
		}
	}
	f.budget.spend(len(differences) + len(f.list(described["Widths"])))
	at := 0
	for _, value := range differences {
		switch value := f.resolve(value).(type) {
		case float64:
			at = int(min(max(value, 0), 256))
		case name:
			if at < len(this.simple) {
				if text := glyphText(string(value)); text != "" {
					this.simple[at] = text
				}
				at++
			}
		}
	}
	first, _ := f.number(described["FirstChar"])
	if missing, ok := f.number(f.dict(described["FontDescriptor"])["MissingWidth"]); ok && missing > 0 {
		this.usual = missing
	}
	for i, value := range f.list(described["Widths"]) {
		if wide, ok := f.number(value); ok && first >= 0 && i < len(this.simple) {
			code := uint32(min(first, 255)) + uint32(i)
			this.widths = append(this.widths, width{code, code, wide})
		}
	}
}

// glyphs takes a string apart, only as far as somebody asks: its glyphs are many times as large as it is.
func (t *font) glyphs(text string) iter.Seq[glyph] {
	return func(yield func(glyph) bool) {
		for text != "" {
			size := min(t.codeSize(text), len(text))
			if !yield(t.glyph(text[:size])) {
				return
			}
			text = text[size:]
		}
	}
}

func (t *font) glyph(raw string) glyph {
	found := glyph{width: t.width(raw), space: raw == " "}
	var known bool
	if t.toUnicode != nil {
		found.text, known = t.toUnicode.text(code(raw))
	}
	switch {
	case known:
	case t.charset != nil:
		if decoded, err := t.charset.NewDecoder().String(raw); err == nil {
			found.text = decoded
		}
	case !t.composite:
		found.text = t.simple[raw[0]]
	}
	if found.text == "" {
		found.text = string(utf8.RuneError)
	}
	return found
}

// codeSize is how many bytes the first code of a string has.
func (t *font) codeSize(text string) int {
	switch {
	case !t.composite:
		return 1
	case t.size > 0:
		return t.size
	case text[0] < 0x80, t.charset == japanese.ShiftJIS && text[0] >= 0xa0 && text[0] < 0xe0:
		return 1
	}
	return 2
}

func (t *font) width(raw string) float64 {
	if t.composite && t.charset != nil {
		if len(raw) == 1 || raw[0] == 0 {
			return t.usual / 2
		}
		return t.usual
	}
	wanted := code(raw)
	at, _ := slices.BinarySearchFunc(t.widths, wanted, func(w width, code uint32) int {
		if w.from <= code {
			return -1
		}
		return 1
	})
	if at == 0 || t.widths[at-1].until < wanted {
		return t.usual
	}
	return t.widths[at-1].width
}
