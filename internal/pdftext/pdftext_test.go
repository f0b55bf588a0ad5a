// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/pdftest"
)

var japaneseRelease = []string{
	"令和８年度　地域交通の確保に関する支援について",
	"",
	"　国土環境庁は、地域における公共交通の維持を図るため、路線バスの",
	"運行経費に対する補助率を二分の一から三分の二に引き上げることを決",
	"定しました。",
	"　申請の受付は、七月一日から開始します。",
}

const japaneseText = "令和８年度　地域交通の確保に関する支援について\n\n" +
	"国土環境庁は、地域における公共交通の維持を図るため、路線バスの運行経費に対する補助率を二分の一から三分の二に引き上げることを決定しました。\n" +
	"申請の受付は、七月一日から開始します。"

// R2.5
func TestTextOfDocuments(t *testing.T) {
	t.Parallel()
	english := []string{
		"Harbour bridge reopens", "",
		"The harbour bridge has been open to traffic again since Monday, after re-",
		"pairs that took two years and cost more than had been expected.",
		"Buses follow in June.",
	}
	const englishText = "Harbour bridge reopens\n\nThe harbour bridge has been open to traffic again since Monday, after repairs " +
		"that took two years and cost more than had been expected.\nBuses follow in June."
	tests := map[string]struct {
		options pdftest.Options
		pages   [][]string
		want    string
	}{
		"English":                              {pdftest.Options{}, [][]string{english}, englishText},
		"English, compressed":                  {pdftest.Options{Compressed: true}, [][]string{english}, englishText},
		"without a table of its objects":       {pdftest.Options{Damaged: true}, [][]string{english}, englishText},
		"Japanese by a table of its glyphs":    {pdftest.Options{Font: pdftest.Mapped}, [][]string{japaneseRelease}, japaneseText},
		"Japanese, compressed":                 {pdftest.Options{Font: pdftest.Mapped, Compressed: true}, [][]string{japaneseRelease}, japaneseText},
		"Japanese in a font that is elsewhere": {pdftest.Options{Font: pdftest.ShiftJIS}, [][]string{japaneseRelease}, japaneseText},
		"Japanese without a table of its glyphs": {
			pdftest.Options{Font: pdftest.Collection}, [][]string{{"あすのあさはやくバスがはしります。", "", "テエブルはありません。"}},
			"あすのあさはやくバスがはしります。\n\nテエブルはありません。",
		},
		"protected from changes":   {pdftest.Options{Encrypted: true, Compressed: true}, [][]string{english}, englishText},
		"scanned":                  {pdftest.Options{Scanned: true}, [][]string{nil, nil}, ""},
		"glyphs that mean nothing": {pdftest.Options{Font: pdftest.Unmapped}, [][]string{japaneseRelease}, ""},
		"heads, feet and page numbers": {
			pdftest.Options{}, [][]string{
				{"Report 7 of the agency", "", "The first page says one thing.", "", "- 1 -"},
				{"Report 7 of the agency", "", "The second page says another thing.", "", "- 2 -"},
				{"Report 7 of the agency", "", "The third page says nothing new.", "", "- 3 -"},
			},
			"The first page says one thing.\n\nThe second page says another thing.\n\nThe third page says nothing new.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(t.Context(), pdftest.Write(test.options, test.pages...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Document{Text: test.want, Pages: len(test.pages)}, got); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

// page is a document with one page of this content.
func page(content string, more ...string) []byte {
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"+
		"3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>endobj\n"+
		"4 0 obj<</Length %d>>stream\n%s\nendstream endobj\n%s\ntrailer<</Root 1 0 R>>", len(content), content, strings.Join(more, "\n"))
}

// R2.5
func TestPlacesOfWords(t *testing.T) {
	t.Parallel()
	// Each of its characters is half as wide as it is high.
	font := "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/X/FirstChar 32/LastChar 126/Widths[" + strings.Repeat("500 ", 95) + "]>>endobj"
	tests := map[string]struct {
		content string
		more    []string
		want    string
	}{
		"a space that is only a gap": {"BT /F 10 Tf (one) Tj 20 0 Td (two) Tj ET", []string{font}, "one two"},
		"a gap within an array":      {"BT /F 10 Tf [(one)-400(two)-20(three)] TJ ET", []string{font}, "one twothree"},
		"pieces of one word":         {"BT /F 10 Tf (o) Tj 5 0 Td (ne) Tj ET", []string{font}, "one"},
		"a piece that is set higher": {"BT /F 10 Tf (one) Tj 15 3 Td (2) Tj ET", []string{font}, "one2"},
		"lines by an apostrophe":     {"BT /F 10 Tf 12 TL (one) Tj (two) ' 0 0 (three) \" ET", []string{font}, "one two three"},
		"lines far apart":            {"BT /F 10 Tf (one) Tj 0 -40 Td (two) Tj ET", []string{font}, "one\n\ntwo"},
		"text that is turned":        {"BT /F 10 Tf 0 1 -1 0 9 9 Tm (one) Tj 20 0 Td (two) Tj ET", []string{font}, "one two"},
		"escapes": {`BT /F 10 Tf (a\(b\)\143\\ (d\
e)) Tj ET`, []string{font}, `a(b)c\ (de)`},
		"names of glyphs": {
			"BT /F 10 Tf (ABCDE) Tj ET",
			[]string{"5 0 obj<</Subtype/Type1/Encoding<</Differences[65/eacute/fi/uni2014 68/germandbls/a.alt]>>>>endobj"}, "éfi—ßa",
		},
		"a form": {
			"/X Do BT /F 10 Tf 0 -50 Td (two) Tj ET",
			[]string{font, "6 0 obj<</Subtype/Form/Matrix[1 0 0 1 0 9]/Length 29>>stream\nBT /F 10 Tf (one) Tj ET      \nendstream endobj"}, "one\n\ntwo",
		},
		"a form that draws itself": {
			"/X Do", []string{font, "6 0 obj<</Subtype/Form/Length 40>>stream\nBT /F 10 Tf (one) Tj ET /X Do           \nendstream endobj"},
			"one",
		},
		"an image within the content":  {"BT /F 10 Tf (one) Tj ET BI /W 4 /H 1 /BPC 8 /CS /G ID (EI( EI BT /F 10 Tf 0 -40 Td (two) Tj ET", []string{font}, "one\n\ntwo"},
		"what is no part of the text":  {"/Artifact BMC BT /F 10 Tf (seven) Tj ET EMC BT /F 10 Tf 0 40 Td (one) Tj ET", []string{font}, "one"},
		"nothing but such":             {"/Artifact BMC BT /F 10 Tf (seven) Tj ET EMC", []string{font}, "seven"},
		"a page without an end":        {"BT /F 10 Tf (one) Tj [(two", []string{font}, "one"},
		"a range of codes":             {"BT /F 10 Tf <000100020009> Tj ET", []string{"5 0 obj<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 7 0 R/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/X>>]>>endobj", "7 0 obj<</Length 90>>stream\n2 beginbfrange <0001><0003><3042> <0009><0009>[<D83DDE00>] endbfrange\nendstream endobj"}, "あぃ😀"},
		"a later version of an object": {"BT /F 10 Tf (one) Tj ET", []string{font, "4 0 obj<</Length 23>>stream\nBT /F 10 Tf (new) Tj ET\nendstream endobj"}, "new"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(t.Context(), page(test.content, test.more...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// R2.5
func TestDocumentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	good := pdftest.Write(pdftest.Options{}, japaneseRelease)
	tests := map[string]struct {
		ctx  context.Context
		data []byte
		want error
	}{
		"nothing":              {t.Context(), nil, ErrNoPDF},
		"a page":               {t.Context(), []byte("<html>PDF"), ErrNoPDF},
		"a head alone":         {t.Context(), []byte("%PDF-1.7\n"), ErrNoPDF},
		"locked by a password": {t.Context(), pdftest.Write(pdftest.Options{Password: "secret"}, japaneseRelease), ErrLocked},
		"too large":            {t.Context(), append(good, make([]byte, maxFile)...), ErrTooLarge},
		"after its time":       {ended, good, context.Canceled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Read(test.ctx, test.data); !errors.Is(err, test.want) {
				t.Errorf("got %+v, %v; want %v", got, err, test.want)
			}
		})
	}
}

// R1.6
func FuzzRead(f *testing.F) {
	for _, options := range []pdftest.Options{
		{}, {Font: pdftest.Mapped}, {Font: pdftest.ShiftJIS}, {Encrypted: true}, {Password: "p"}, {Scanned: true}, {Damaged: true}, {Compressed: true, Font: pdftest.Mapped},
	} {
		lines := japaneseRelease
		if options.Font == pdftest.Latin {
			lines = []string{"One line of a text,", "and another one."}
		}
		f.Add(pdftest.Write(options, lines, lines))
	}
	f.Add(page("q 1 0 0 1 0 0 cm BT /F 10 Tf [(a)-300(b)] TJ (c) ' 1 2 (d) \" T* 1 Tr 3 Ts 4 Tz ET Q BI ID x EI /X Do",
		"5 0 obj<</Subtype/Type0/Encoding 7 0 R/ToUnicode 7 0 R/DescendantFonts[<</DW 1/W[1[2 3]4 5 6]>>]>>endobj",
		"6 0 obj<</Subtype/Form/Filter[/ASCIIHexDecode/ASCII85Decode]/Length 5>>stream\n41>~>\nendstream endobj",
		"7 0 obj<</Length 9>>stream\n1 begincodespacerange<00><ff>endcodespacerange 1 beginbfrange<01><03><0041> <05><06>[<0042>] endbfrange\nendstream endobj"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := Read(t.Context(), data)
		if !utf8.ValidString(got.Text) || len(got.Text) > maxText || got.Pages > maxPages {
			t.Errorf("%d pages, %d bytes", got.Pages, len(got.Text))
		}
	})
}
