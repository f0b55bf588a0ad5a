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

// What the forms of some values take together at most, in bytes: so many, and so many more for each byte of the values. The
// second is what a key of letters and digits takes. Where a value is made of what has to be escaped, each form is several times as
// long, and there are fifty of them: eight kilobytes would take megabytes to look for, and whoever may write a Secret chooses them.
const (
	maxForms     = 32 << 10
	maxFormsEach = 8
)

// formsOf returns the forms in which secrets may stand in a text, none shorter than the window, each
// once. Where all would be too much, those are left out that are escaped twice, and then others that are long; never the
// values themselves.
func formsOf(values ...string) []string {
	found := forms{left: maxForms, known: map[string]bool{}}
	for _, value := range values {
		found.left += maxFormsEach * len(value)
	}
	for _, value := range values {
		found.add(value)
	}
	for _, value := range values {
		found.add(escaped(value)...)
		found.add(hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			found.add(within(encoding, value)...)
		}
	}
	for _, value := range values {
		once := escaped(value)
		slices.Sort(once)
		for _, form := range slices.Compact(once) {
			if len(form) <= found.left { // what is escaped is no shorter
				found.add(escaped(form)...) // as in an error that repeats JSON, or in the HTML of a feed
			}
		}
	}
	slices.Sort(found.forms)
	return found.forms
}

// forms are those that were found, as long as there is room.
type forms struct {
	forms []string
	known map[string]bool
	left  int // in bytes
}

func (f *forms) add(forms ...string) {
	for _, form := range forms {
		// Hiding some bytes of a character would leave the others.
		if len(form) < window || len(form) > f.left || f.known[form] || !utf8.ValidString(form) {
			continue
		}
		f.forms, f.left = append(f.forms, form), f.left-len(form)
		f.known[form] = true
	}
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
