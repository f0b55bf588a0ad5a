// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formsOf returns the forms in which secrets may stand in a text, none shorter than the window, each
// once.
func formsOf(values ...string) []string {
	forms := make([]string, 0, len(values))
	for _, value := range values {
		forms = append(forms, formsOfOne(value)...)
	}
	slices.Sort(forms)
	return slices.DeleteFunc(slices.Compact(forms), func(form string) bool { return len(form) < window })
}

func formsOfOne(value string) []string {
	forms := escaped(value)
	for _, form := range escaped(value) {
		forms = append(forms, escaped(form)...) // as in an error that repeats JSON, or in the HTML of a feed
	}
	if !utf8.ValidString(value) { // hiding some bytes of a character would leave the others
		forms = slices.DeleteFunc(forms, func(form string) bool { return !utf8.ValidString(form) })
	}
	forms = append(forms, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, within(encoding, value)...)
	}
	return forms
}

// escaped returns a text as it is, and as it stands in quotes, URLs, HTML and XML.
func escaped(text string) []string {
	forms := append(quoted(text), text, html.EscapeString(text), url.PathEscape(text), url.QueryEscape(text),
		lowerHex(url.PathEscape(text)), lowerHex(url.QueryEscape(text)))
	var written strings.Builder
	if xml.EscapeText(&written, []byte(text)) == nil {
		forms = append(forms, written.String())
	}
	return forms
}

// quoted returns a text as it stands between the quotes of Go and JSON.
func quoted(text string) []string {
	forms := []string{inside(strconv.Quote(text)), inside(strconv.QuoteToASCII(text))}
	if written, err := json.Marshal(text); err == nil {
		forms = append(forms, inside(string(written)))
	}
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) == nil {
		forms = append(forms, inside(strings.TrimSuffix(plain.String(), "\n")))
	}
	return forms
}

// inside returns what stands between quotes.
func inside(text string) string { return text[1 : len(text)-1] }

// lowerHex writes the digits of percent-encoding in lower case, as some do.
func lowerHex(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], strings.ToLower(text[i+1:i+3]))
		}
	}
	return string(out)
}

// within returns what of the base64 of any text that holds the value follows from the value alone,
// for each of the three ways in which the value can meet the groups of three bytes. A character
// stands for six bits; those at the borders hold bits of the neighbours too.
func within(encoding *base64.Encoding, value string) []string {
	const bitsOfByte, bitsOfCharacter = 8, 6
	const ways = 3
	forms := make([]string, 0, ways)
	for before := range ways {
		whole := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
		first := (before*bitsOfByte + bitsOfCharacter - 1) / bitsOfCharacter
		end := (before + len(value)) * bitsOfByte / bitsOfCharacter
		forms = append(forms, whole[first:end])
	}
	return forms
}
