// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// standard is where the built-in encoding of Latin fonts differs from that of Windows (ISO 32000-1, D.2).
var standard = map[int]string{
	0x27: "’", 0x60: "‘", 0xa4: "⁄", 0xa9: "'", 0xaa: "“", 0xac: "‹", 0xad: "›", 0xae: "fi", 0xaf: "fl", 0xb1: "–", 0xb7: "•",
	0xb8: "‚", 0xb9: "„", 0xba: "”", 0xbc: "…", 0xbd: "‰", 0xd0: "—", 0xe1: "Æ", 0xf1: "æ", 0xfb: "ß",
}

// glyphNames are the names of glyphs that are neither letters nor derived from one.
var glyphNames = map[string]string{
	"space": " ", "nbspace": " ", "exclam": "!", "quotedbl": "\"", "numbersign": "#", "dollar": "$", "percent": "%", "ampersand": "&",
	"quotesingle": "'", "quoteright": "’", "quoteleft": "‘", "quotedblleft": "“", "quotedblright": "”", "quotesinglbase": "‚",
	"quotedblbase": "„", "guilsinglleft": "‹", "guilsinglright": "›", "guillemotleft": "«", "guillemotright": "»",
	"parenleft": "(", "parenright": ")", "asterisk": "*", "plus": "+", "comma": ",", "hyphen": "-", "sfthyphen": "-", "minus": "−",
	"period": ".", "slash": "/", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
	"eight": "8", "nine": "9", "colon": ":", "semicolon": ";", "less": "<", "equal": "=", "greater": ">", "question": "?", "at": "@",
	"bracketleft": "[", "backslash": "\\", "bracketright": "]", "asciicircum": "^", "underscore": "_", "grave": "\x60",
	"braceleft": "{", "bar": "|", "braceright": "}", "asciitilde": "~", "endash": "–", "emdash": "—", "bullet": "•", "ellipsis": "…",
	"dagger": "†", "daggerdbl": "‡", "section": "§", "paragraph": "¶", "copyright": "©", "registered": "®", "trademark": "™",
	"degree": "°", "multiply": "×", "divide": "÷", "plusminus": "±", "Euro": "€", "sterling": "£", "yen": "¥", "cent": "¢", "mu": "µ",
	"onehalf": "½", "onequarter": "¼", "threequarters": "¾", "exclamdown": "¡", "questiondown": "¿", "periodcentered": "·",
	"fi": "fi", "fl": "fl", "ff": "ff", "ffi": "ffi", "ffl": "ffl", "germandbls": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ",
	"oslash": "ø", "Oslash": "Ø", "dotlessi": "ı", "lslash": "ł", "Lslash": "Ł", "eth": "ð", "Eth": "Ð", "thorn": "þ", "Thorn": "Þ",
	"ordfeminine": "ª", "ordmasculine": "º", "onesuperior": "¹", "twosuperior": "²", "threesuperior": "³",
}

// accents are what the names of letters with a mark end in.
var accents = map[string]string{
	"acute": "\u0301", "grave": "\u0300", "circumflex": "\u0302", "dieresis": "\u0308", "tilde": "\u0303", "ring": "\u030a",
	"cedilla": "\u0327", "caron": "\u030c", "ogonek": "\u0328", "macron": "\u0304", "breve": "\u0306", "dotaccent": "\u0307",
	"hungarumlaut": "\u030b",
}

// glyphText is what the glyph of a name looks like; empty where the name is not known.
func glyphText(glyph string) string {
	glyph, _, _ = strings.Cut(glyph, ".")
	if len(glyph) == 1 {
		return glyph
	}
	if known, ok := glyphNames[glyph]; ok {
		return known
	}
	if len(glyph) > 1 {
		if mark, ok := accents[glyph[1:]]; ok {
			return norm.NFC.String(glyph[:1] + mark)
		}
	}
	digits, ok := strings.CutPrefix(glyph, "uni")
	if ok {
		digits = digits[:min(len(digits), 4)]
	} else {
		digits, ok = strings.CutPrefix(glyph, "u")
	}
	if code, err := strconv.ParseUint(digits, 16, 21); ok && err == nil && len(digits) >= 4 {
		return string(rune(code))
	}
	return ""
}
