// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func deflated(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := zlib.NewWriter(&out)
	if _, err := writer.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// watched is a context that looks, while a document is read, at how much of the memory is in use.
type watched struct {
	context.Context
	calls int
	inUse uint64
}

func (w *watched) Err() error {
	if w.calls++; w.calls%128 == 0 {
		w.inUse = max(w.inUse, inUse())
	}
	return w.Context.Err()
}

func inUse() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// R1.6: each of these documents asks for gigabytes, or for hours. Not parallel: the test looks at what the
// whole process allocates.
func TestDocumentsMadeToHurt(t *testing.T) {
	const font = "5 0 obj<</Type/Font/Subtype/Type1>>endobj"
	bomb := deflated(t, deflated(t, bytes.Repeat([]byte("1 "), 64<<20)))
	stream := func(number int, entries string, body []byte) string {
		return fmt.Sprintf("%d 0 obj<</Length %d %s>>stream\n%s\nendstream endobj", number, len(body), entries, body)
	}
	var branches strings.Builder // each form draws the next one twice
	for i := range 40 {
		branches.WriteString(stream(6+i, fmt.Sprintf("/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>", 7+i), []byte("/X Do /X Do")) + "\n")
	}
	flate := func(number int, entries, body string) string {
		return stream(number, "/Filter/FlateDecode"+entries, deflated(t, []byte(body)))
	}
	// So many pages share their content, which is object 5, and their resources.
	pages := func(contents string, more ...string) []byte {
		return page("x", "2 0 obj<</Kids["+strings.Repeat("<</Contents 5 0 R>>", maxPages)+"]>>endobj 5 0 obj["+contents+"]endobj", strings.Join(more, "\n"))
	}
	var fonts, described, choices, overlaps strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&fonts, "/F%d %d 0 R", i, 100+i)
		fmt.Fprintf(&described, "%d 0 obj<<>>", 100+i)
		fmt.Fprintf(&choices, "/F%d 1 Tf ", i)
		fmt.Fprintf(&overlaps, "%d 0 ", 100+i)
	}
	overlapping := func(object string) string {
		return flate(9, fmt.Sprintf("/Type/ObjStm/N 100000/First %d", overlaps.Len()), overlaps.String()+object)
	}
	for name, data := range map[string][]byte{
		"a stream in a stream that inflates a millionfold": page("x", font, stream(4, "/Filter[/FlateDecode/FlateDecode]", bomb)),
		"a table for billions of objects":                  append(page("x", font), "xref\n4000000000 1\n0000000000 00000 n \ntrailer<</Size 4000000000/Root 1 0 R>>"...),
		"a stream of billions of objects":                  page("x", font, stream(9, "/Type/ObjStm/N 4000000000/First 4", []byte("1 0 2 0 3 0 <<>>"))),
		"forms that draw each other":                       page("/X Do /X Do", font, branches.String()),
		"a large comment in a form that is drawn often":    page(strings.Repeat("/X Do ", 100_000), font, stream(6, "/Subtype/Form", bytes.Repeat([]byte("%"), 8<<20))),
		"arrays in arrays":                                 page(strings.Repeat("[", 4<<20), font),
		"dictionaries without end":                         page("x", strings.Repeat("<</A<<>>", 1<<20)),
		"an object that is never closed":                   page("x", "9 0 obj"+strings.Repeat("[<<>>", 1<<20)),
		"a string that is never closed":                    page("("+strings.Repeat("(", 8<<20), font),
		"pages that are their own":                         page("x", "2 0 obj<</Kids 8 0 R>>endobj 8 0 obj["+strings.Repeat("<</Kids 8 0 R>>", 100)+"]endobj"),
		"a range of all codes, many times": page("BT /F 1 Tf ("+strings.Repeat("a", 1<<20)+") Tj",
			"5 0 obj<</Subtype/Type0/ToUnicode 7 0 R>>endobj", stream(7, "", []byte("1 beginbfrange "+strings.Repeat("<00000000><ffffffff><0041>", 100_000)+" endbfrange"))),
		"a font with many differences, chosen again and again": page(strings.Repeat("/F 1 Tf ", 100_000),
			"3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F<</Encoding<</Differences["+strings.Repeat("/a ", 100_000)+"]>>>>>>>>>>endobj"),
		"a line of very many pieces":  page("BT /F 1 Tf "+strings.Repeat("(a)Tj ", 400_000), font),
		"a string of very many codes": page("x", font, flate(4, "", "BT /F 1 Tf ("+strings.Repeat("a", maxStream-100)+") Tj")),
		"a code that means millions of characters": page("BT /F 1 Tf ("+strings.Repeat("a", 1_000)+") Tj",
			"5 0 obj<</Subtype/Type1/ToUnicode 7 0 R>>endobj", flate(7, "", "1 beginbfchar <61>("+strings.Repeat("\x00A", 4<<20)+") endbfchar")),
		"very many codes that mean many characters": page("BT /F 1 Tf (a) Tj",
			"5 0 obj<</Subtype/Type1/ToUnicode 7 0 R>>endobj", flate(7, "", "1 beginbfchar "+strings.Repeat("<61>("+strings.Repeat("\x00A", 16<<10)+")", 500)+" endbfchar")),
		"pages of very many empty streams": pages(strings.Repeat("6 0 R ", 400_000), flate(6, "", "")),
		"pages of very many streams that become nothing": pages(strings.Repeat("6 0 R ", 1_000),
			stream(6, "/Filter/ASCIIHexDecode", bytes.Repeat([]byte(" "), 8<<20))),
		"pages of very many things that are no streams":      pages(strings.Repeat("6 0 R ", 400_000)),
		"an empty form that is drawn often":                  page(strings.Repeat("/X Do ", 500_000), font, flate(6, "/Subtype/Form", "")),
		"a stream of objects that are all the same long one": page("x", font, overlapping("("+strings.Repeat("a", 8<<20)+")")),
		"a stream of objects that are all behind a comment":  page("x", font, overlapping(strings.Repeat("%", 8<<20))),
		"a font described in place, chosen again and again":  page(strings.Repeat("/F 1 Tf ", 500_000), "3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F<<>>>>>>>>endobj"),
		"very many fonts": page(choices.String(), "3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<<"+fonts.String()+">>>>>>endobj", described.String()),
		"a font with the same widths over and over": page("/F 1 Tf",
			"5 0 obj<</Subtype/Type0/DescendantFonts[<</W["+strings.Repeat("1 7 0 R ", 100_000)+"]>>]>>endobj 7 0 obj["+strings.Repeat("1 ", 100_000)+"]endobj"),
		"a tree of pages with the same page over and over": page("x", font,
			"2 0 obj<</Kids 8 0 R>>endobj 8 0 obj["+strings.Repeat("<</Kids 8 0 R>>", 20_000)+strings.Repeat("3 0 R ", 250_000)+"]endobj"),
		"a text in a charset":               page("BT /F 1 Tf "+strings.Repeat("("+strings.Repeat("a", maxString)+") Tj ", 40), "5 0 obj<</Subtype/Type0/Encoding/90ms-RKSJ-H>>endobj"),
		"a text in another charset":         page("BT /F 1 Tf "+strings.Repeat("("+strings.Repeat("\x00a", maxString/2)+") Tj ", 80), "5 0 obj<</Subtype/Type0/Encoding/UniJIS-UCS2-H>>endobj"),
		"dictionaries in dictionaries":      page("x", font, "9 0 obj["+strings.Repeat(strings.Repeat("<</A", 30)+strings.Repeat(">>", 30), 20_000)+"]endobj"),
		"very many small dictionaries":      page("x", font, "9 0 obj["+strings.Repeat("<</A()>>", 400_000)+"]endobj"),
		"very many numbers":                 page("["+strings.Repeat("1.5 ", 1_600_000), font),
		"very many strings":                 page("["+strings.Repeat("(ab)", 1_600_000), font),
		"very many small objects":           page("x", font, strings.Repeat("1 0 obj/A ", 1_000_000)),
		"very many beginnings of objects":   page("x", font, strings.Repeat(" x x x x x x x x obj", 1_500_000)),
		"forms in forms that are all large": page("/X Do", font, flate(6, "/Subtype/Form/Resources<</XObject<</X 6 0 R>>>>", "/X Do "+strings.Repeat(" ", maxStream-10))),
		"very many large strings":           page("x", font, flate(9, "/Type/ObjStm/N 1/First 4", "7 0 ["+strings.Repeat("("+strings.Repeat("a", 30_000)+")", 500))),
		"very many names":                   page("x", font, "9 0 obj["+strings.Repeat("/"+strings.Repeat("a", 24), 1_200_000)),
		"very many lines":                   page("BT /F 1 Tf "+strings.Repeat("(a-)Tj 0 -2 Td ", 200_000), font),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			idle := inUse()
			ctx := &watched{Context: t.Context(), inUse: idle}
			runtime.ReadMemStats(&before)
			_, _ = Read(ctx, data)
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 450*inflation {
				t.Errorf("allocated %d MiB for a document of %d KiB", allocated, len(data)>>10)
			}
			if held := (ctx.inUse - idle) >> 20; held > Memory>>20 {
				t.Errorf("held %d MiB for a document of %d KiB", held, len(data)>>10)
			}
		})
	}
}
